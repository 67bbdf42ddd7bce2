//! Lines about servers: those whose tools are missing, and those whose last refresh failed.

use std::collections::BTreeSet;

use pegboard_catalog::{Catalog, ServerEntry, ToolView};
use pegboard_model::{DiscoveryStatus, ServerName};

use super::wording::{age, line};

/// Servers that are named; the others are counted.
const NAMED: usize = 5;
/// Characters of a refresh error that are shown.
const REASON: usize = 160;

/// Returns lines that name the servers whose tools are missing, each after a line break.
pub(crate) fn missing(catalog: &Catalog) -> String {
    let lines = [being_discovered(catalog), not_available(catalog)];
    let lines = lines.into_iter().flatten();
    lines.map(|line| format!("\n{line}")).collect()
}

/// Returns a line that names the servers whose tools are not known yet.
pub(crate) fn being_discovered(catalog: &Catalog) -> Option<String> {
    let names = without_tools(catalog, |status| status != DiscoveryStatus::Failed);
    names.map(|names| format!("still being discovered: {names} (ask again)"))
}

/// Returns a line that names the servers whose discovery failed.
pub(crate) fn not_available(catalog: &Catalog) -> Option<String> {
    let names = without_tools(catalog, |status| status == DiscoveryStatus::Failed);
    names.map(|names| format!("not available: {names}"))
}

/// Describes the failed refresh of a server. A list that is merely old is not reported, because its server is
/// contacted when it is needed.
pub(crate) fn failed_refresh(entry: &ServerEntry) -> Option<String> {
    if !entry.refresh_failed() {
        return None;
    }
    let record = &entry.record;
    let old = match (record.attempted_at, record.discovered_at) {
        (Some(tried), Some(listed)) => format!("list at least {} old; ", age(tried.since(listed))),
        _ => String::new(),
    };
    let why = record.last_error.as_ref().map(|error| {
        let first = error.message.lines().next().unwrap_or_default();
        format!(": {}", line(first, REASON))
    });
    Some(format!(
        "{old}last refresh failed{}",
        why.unwrap_or_default()
    ))
}

/// Returns the servers of these tools whose last refresh failed, sorted by name.
pub(crate) fn failed_servers<'a>(
    tools: impl Iterator<Item = ToolView<'a>>,
) -> BTreeSet<&'a ServerName> {
    let failed = tools.filter(|tool| tool.entry().is_some_and(|entry| entry.refresh_failed()));
    failed.filter_map(|tool| tool.server()).collect()
}

/// Returns a line that names servers whose last refresh failed.
pub(crate) fn stale_line(servers: &BTreeSet<&ServerName>) -> Option<String> {
    let names = named(servers.iter().map(|server| server.as_str()));
    names.map(|names| format!("stale, last refresh failed: {names}"))
}

fn without_tools(catalog: &Catalog, wanted: impl Fn(DiscoveryStatus) -> bool) -> Option<String> {
    let missing = catalog
        .servers()
        .filter(|entry| entry.is_offered() && !entry.record.is_known() && wanted(entry.status()));
    named(missing.map(|entry| entry.name().as_str()))
}

/// Joins the first names and counts the others.
fn named<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<String> {
    let named: Vec<&str> = names.by_ref().take(NAMED).collect();
    let more = names.count();
    match (named.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(named.join(", ")),
        (false, more) => Some(format!("{} and {more} more", named.join(", "))),
    }
}
