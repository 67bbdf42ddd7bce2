//! Selects the tools of a listing and groups them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pegboard_catalog::{Catalog, ToolView};
use pegboard_model::SEPARATOR;

use super::list::ListRequest;

/// Longest name that is used as an example.
const EXAMPLE_NAME: usize = 48;

/// The tools of a listing, sorted by exposed name.
pub(crate) struct Selection<'a> {
    pub(crate) tools: Vec<ToolView<'a>>,
}

/// The name of a category or server, and its number of tools.
pub(crate) type Group<'a> = (&'a str, usize);

impl<'a> Selection<'a> {
    pub(crate) fn of(catalog: &'a Catalog, request: &ListRequest<'_>) -> Self {
        let wanted = request.category.map(without_count).unwrap_or_default();
        let tools = catalog
            .all_tools()
            // What awaits a review is not listed for models at all.
            .filter(|tool| !tool.is_held() && (request.include_disabled || tool.enabled()))
            .filter(|tool| wanted.is_empty() || belongs(tool, wanted));
        Self {
            tools: tools.collect(),
        }
    }

    /// Returns the categories, sorted by name.
    pub(crate) fn categories(&self) -> Vec<Group<'a>> {
        groups(self.tools.iter().map(ToolView::category))
    }

    /// Returns the servers, sorted by name. Static tools count under their category.
    pub(crate) fn servers(&self) -> Vec<Group<'a>> {
        groups(self.tools.iter().map(group_name))
    }
}

/// Returns the coarsest value of [`ListRequest::category`] that selects a tool.
pub(crate) fn group_name<'a>(tool: &ToolView<'a>) -> &'a str {
    match tool.server() {
        Some(server) => server.as_str(),
        None => tool.category(),
    }
}

/// Returns a tool's exposed name without its server.
pub(crate) fn short_name<'a>(tool: &ToolView<'a>) -> &'a str {
    let name = tool.exposed().as_str();
    let rest = tool.server().and_then(|server| {
        let rest = name.strip_prefix(server.as_str())?;
        rest.strip_prefix(SEPARATOR)
    });
    rest.unwrap_or(name)
}

/// Sorts groups by size, largest first, then by name.
pub(crate) fn largest_first<'a>(mut groups: Vec<Group<'a>>) -> Vec<Group<'a>> {
    groups.sort_by_key(|(name, tools)| (Reverse(*tools), *name));
    groups
}

/// Returns the largest group that is narrower than the requested one and whose name can be used in an example.
pub(crate) fn narrower_example<'a>(groups: &[Group<'a>], wanted: Option<&str>) -> Option<&'a str> {
    if groups.len() < 2 {
        return None;
    }
    let plain = |name: &str| {
        name.len() <= EXAMPLE_NAME
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-/. ".contains(&byte))
    };
    let is_wanted = |name: &str| wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(name));
    let named = groups
        .iter()
        .filter(|(name, _)| plain(name) && !is_wanted(name));
    let largest = named.min_by_key(|(name, tools)| (Reverse(*tools), *name));
    largest.map(|(name, _)| *name)
}

/// Strips the count from a category that a model copied out of a list: `github/issues (12)`.
pub(crate) fn without_count(category: &str) -> &str {
    let category = category.trim();
    let bare = category
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("))
        .filter(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|(name, _)| name.trim_end());
    bare.unwrap_or(category)
}

fn belongs(tool: &ToolView<'_>, wanted: &str) -> bool {
    let category = tool.category();
    let inside = category
        .get(..wanted.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(wanted))
        && matches!(category.as_bytes().get(wanted.len()), None | Some(b'/'));
    inside
        || tool
            .server()
            .is_some_and(|server| server.as_str().eq_ignore_ascii_case(wanted))
}

fn groups<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Group<'a>> {
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counted.entry(name).or_default() += 1;
    }
    counted.into_iter().collect()
}
