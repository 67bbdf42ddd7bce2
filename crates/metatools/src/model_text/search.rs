//! Formats search results: one line for each tool, best first.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use pegboard_catalog::{Catalog, HitLine, ServerEntry, ToolSearch, ToolView, lines};
use pegboard_guard::signature_of;
use pegboard_model::{ServerName, escape_hidden_values};

use super::list::{ListRequest, shown};
use super::selection::{Selection, largest_first};
use super::signature::call_form;
use super::status::{being_discovered, failed_refresh, failed_servers, not_available, stale_line};
use super::wording::{beginning, block, count, line, quoted};
use crate::args::MAX_BATCH;

/// Maximum number of tools for one query, because a model reads the response.
pub const MAX_HITS: usize = 100;
/// Characters of a description in a line of [`Detail::Full`].
const DESCRIPTION: usize = 300;
/// Hits that are searched for each line, because the same tool of several servers shares one.
const HITS_PER_LINE: usize = 3;
/// Tools of other servers that a line names.
const NAMED_TWINS: usize = 4;
/// Tools that are named for each step of a query.
const TASK_TOOLS: usize = 2;
/// Categories that are listed when nothing was found.
const NAMED_CATEGORIES: usize = 8;

/// How much is shown of each tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Name and summary.
    Brief,
    /// Also the names of the arguments.
    #[default]
    Signature,
    /// Also types and the beginning of the description. An exact tool name returns the whole definition.
    Full,
}

/// Formats the results of up to [`MAX_BATCH`] queries with at most `limit` tools each. A query that names a server
/// lists its tools. A tool that an earlier query listed is only named.
pub fn search_text(
    catalog: &Catalog,
    finder: &dyn ToolSearch,
    queries: &[&str],
    limit: usize,
    detail: Detail,
) -> String {
    let limit = limit.clamp(1, MAX_HITS);
    let mut response = ResponseBuilder {
        catalog,
        finder,
        limit,
        detail,
        shown: HashSet::new(),
        stale: BTreeSet::new(),
        text: String::new(),
        few: false,
        misses_meaning: false,
    };
    let queries: Vec<&str> = queries
        .iter()
        .map(|query| query.trim())
        .filter(|query| !query.is_empty())
        .collect();
    for query in queries.iter().take(MAX_BATCH) {
        response.add(query);
    }
    if queries.is_empty() {
        response
            .text
            .push_str("Say what the tool should do: search_tools(query=\"create an issue\").\n");
        response.few = true;
    }
    if queries.len() > MAX_BATCH {
        let _ = writeln!(
            response.text,
            "Only the first {MAX_BATCH} queries were answered."
        );
    }
    response.finish()
}

struct ResponseBuilder<'a> {
    catalog: &'a Catalog,
    finder: &'a dyn ToolSearch,
    limit: usize,
    detail: Detail,
    /// The exposed names that were listed.
    shown: HashSet<&'a str>,
    /// The servers of listed tools whose last refresh failed.
    stale: BTreeSet<&'a ServerName>,
    text: String,
    /// Whether a query found less than requested, so that missing servers matter.
    few: bool,
    /// Whether a query was ranked by words only because embeddings are still being computed.
    misses_meaning: bool,
}

impl<'a> ResponseBuilder<'a> {
    fn add(&mut self, query: &str) {
        if self.detail == Detail::Full
            && let Ok(tool) = self.catalog.find(query)
        {
            self.shown.insert(tool.exposed().as_str());
            self.text.push_str(&full_definition(&tool));
            return;
        }
        // The same tool of several servers shares a line, so more hits than lines are needed.
        let wanted = self.limit.saturating_mul(HITS_PER_LINE).min(MAX_HITS);
        let results = self.finder.find(self.catalog, query, wanted);
        let is_good = results.has_good_match();
        self.misses_meaning |= self.finder.misses_meaning(self.catalog, &results);
        let has_tools = |entry: &&Arc<ServerEntry>| entry.visible_tools().next().is_some();
        let empty_server = results.server.filter(|entry| !has_tools(entry));
        let of_server = results
            .server
            .filter(has_tools)
            .map(|entry| entry.name().as_str());
        let (found, total): (Vec<ToolLine<'a>>, usize) = match results.server {
            Some(entry) if entry.visible_tools().next().is_some() => {
                let tools: Vec<_> = entry.visible_tools().map(ToolLine::of).collect();
                let total = tools.len();
                (tools, total)
            }
            // A server without tools may have the name of what is searched, for example `time`.
            _ => {
                let lines = lines(results.hits, self.limit).into_iter();
                (lines.map(ToolLine::from).collect(), results.total)
            }
        };
        if found.is_empty() {
            self.few = true;
            self.found_nothing(query, empty_server.map(|entry| entry.name().as_str()));
            return;
        }
        if let Some(entry) = empty_server {
            let _ = writeln!(self.text, "No tool of server {} is known.", entry.name());
        }
        self.few |= total < self.limit;
        let shown = found.len().min(self.limit);
        let what = match of_server {
            Some(server) => format!("of server {server}"),
            None => format!("for {}", quoted(query)),
        };
        if is_good {
            let _ = write!(self.text, "{shown} of {} {what}", count(total, "tool"));
        } else {
            let _ = write!(self.text, "No good match {what}; nearest");
        }
        if is_good && total > shown {
            let more = total.min(MAX_HITS).min(self.limit.saturating_mul(4));
            if more > shown {
                let _ = write!(self.text, " (limit={more} shows more)");
            }
        }
        self.text.push_str(":\n");
        self.stale.extend(failed_servers(
            found.iter().take(shown).map(|line| line.tool),
        ));
        let mut again = Vec::new();
        for ToolLine { tool, twins } in found.iter().take(shown) {
            let name = tool.exposed().as_str();
            if self.shown.insert(name) {
                let _ = writeln!(self.text, "{}{twins}", tool_line(tool, self.detail));
            } else {
                again.push(name);
            }
        }
        if !again.is_empty() {
            let _ = writeln!(self.text, "and from above: {}", again.join(", "));
        }
        if of_server.is_none() {
            self.add_tasks(query);
        }
    }

    /// Names the best tools of each step of a query that asks for several things, unless they are listed.
    fn add_tasks(&mut self, query: &str) {
        for (task, hits) in self.finder.find_tasks(self.catalog, query, TASK_TOOLS) {
            let names = hits.iter().map(|hit| hit.tool.exposed().as_str());
            let names: Vec<&str> = names.filter(|name| !self.shown.contains(name)).collect();
            if !names.is_empty() {
                let _ = writeln!(self.text, "for {}: {}", quoted(&task), names.join(", "));
            }
        }
    }

    fn found_nothing(&mut self, query: &str, server: Option<&str>) {
        if let Some(server) = server {
            let _ = writeln!(self.text, "No tool of server {server} is known.");
            return;
        }
        let _ = write!(self.text, "No tool matches {}.", quoted(query));
        let similar = self.catalog.suggest_tools(query);
        if similar.is_empty() {
            let servers =
                largest_first(Selection::of(self.catalog, &ListRequest::default()).servers());
            let some: Vec<String> = servers.iter().take(NAMED_CATEGORIES).map(shown).collect();
            if !some.is_empty() {
                let more = servers.len().saturating_sub(NAMED_CATEGORIES);
                let more = if more > 0 {
                    format!(", +{more} more")
                } else {
                    String::new()
                };
                let _ = write!(
                    self.text,
                    " There are tools of {}{more}; list_available_tools shows them.",
                    some.join(", ")
                );
            }
        } else {
            let _ = write!(self.text, " Nearest names: {}.", similar.join(", "));
        }
        self.text.push('\n');
    }

    fn finish(mut self) -> String {
        if self.misses_meaning {
            self.text
                .push_str("Ranked by words for now; later searches also rank by meaning.\n");
        }
        if let Some(line) = stale_line(&self.stale) {
            let _ = writeln!(self.text, "{line}");
        }
        if let Some(line) = being_discovered(self.catalog) {
            let _ = writeln!(self.text, "{line}");
        }
        if let Some(line) = not_available(self.catalog).filter(|_| self.few) {
            let _ = writeln!(self.text, "{line}");
        }
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

/// A line of the response.
struct ToolLine<'a> {
    tool: ToolView<'a>,
    /// The same tool of other servers, as the end of the line.
    twins: String,
}

impl<'a> ToolLine<'a> {
    fn of(tool: ToolView<'a>) -> Self {
        let twins = String::new();
        Self { tool, twins }
    }
}

impl<'a> From<HitLine<'a>> for ToolLine<'a> {
    fn from(line: HitLine<'a>) -> Self {
        let names = line.twins.iter().take(NAMED_TWINS);
        let names: Vec<&str> = names.map(|tool| tool.exposed().as_str()).collect();
        let more = line.twins.len() - names.len();
        let twins = match (names.is_empty(), more) {
            (true, _) => String::new(),
            (false, 0) => format!(" (also {})", names.join(", ")),
            (false, more) => format!(" (also {}, +{more} more)", names.join(", ")),
        };
        let tool = line.hit.tool;
        Self { tool, twins }
    }
}

fn tool_line(tool: &ToolView<'_>, detail: Detail) -> String {
    let marks = [
        (tool.annotations().claims_read_only(), " (read-only)"),
        (tool.deprecated().is_some(), " (deprecated)"),
    ];
    let mut old: String = (marks.iter())
        .filter_map(|(is_so, mark)| is_so.then_some(*mark))
        .collect();
    if let Some(note) = tool.note() {
        let _ = write!(old, " (note: {note})");
    }
    match detail {
        Detail::Brief => format!("{} — {}{old}", tool.exposed(), line(tool.summary(), 200)),
        Detail::Signature => format!("{} — {}{old}", call_form(tool), line(tool.summary(), 200)),
        Detail::Full => {
            let description = tool.description();
            let (kept, left) = beginning(&description, DESCRIPTION);
            let kept = line(
                &kept.split_whitespace().collect::<Vec<_>>().join(" "),
                usize::MAX,
            );
            let mark = if left > 0 { "…" } else { "" };
            let form = signature_of(tool.exposed().as_str(), tool.input_schema());
            format!("{form} — {kept}{mark}{old}")
        }
    }
}

/// Returns everything that a server says about a tool. Nothing is shortened, and schemas are as the server sent them,
/// except for hidden characters.
fn full_definition(tool: &ToolView<'_>) -> String {
    let parts = serde_json::from_str::<pegboard_model::DefinitionParts<'_>>(tool.definition()).ok();
    let mut text = format!("{}\n{}\n", tool.exposed(), block(&tool.description()));
    if let Some(deprecated) = tool.deprecated() {
        let _ = writeln!(text, "Deprecated: {}", block(deprecated));
    }
    if let Some(note) = tool.note() {
        let _ = writeln!(text, "Note: {note}");
    }
    if let Some(failed) = tool.entry().and_then(|entry| failed_refresh(entry)) {
        let _ = writeln!(text, "Stale: {failed}");
    }
    let _ = writeln!(
        text,
        "Input schema: {}",
        escape_hidden_values(tool.input_schema())
    );
    if let Some(schema) = parts.as_ref().and_then(|parts| parts.output_schema) {
        let _ = writeln!(
            text,
            "Output schema: {}",
            escape_hidden_values(schema.get())
        );
    }
    if let Some(hints) = parts.and_then(|parts| parts.annotations) {
        let _ = writeln!(text, "Annotations: {}", escape_hidden_values(hints.get()));
    }
    text
}
