//! Lists tools in less than 500 tokens: individually while they fit, else by server or category with counts.

use pegboard_catalog::{Catalog, ToolView};

use super::budgeted_text::{BudgetedText, LIST_TOKENS};
use super::instructions;
use super::selection::{
    Group, Selection, group_name, largest_first, narrower_example, short_name, without_count,
};
use super::status::{failed_servers, missing, stale_line};
use super::wording::{count, line, quoted};

/// The response when no tool is known.
const NOTHING_KNOWN: &str =
    "No tools are known yet. Servers are discovered when they are first needed.";
/// Categories that are suggested when the requested one does not exist.
const NAMED_CATEGORIES: usize = 8;
/// Characters of a category that are compared.
const COMPARED_CHARS: usize = 80;
/// Minimum similarity of a suggested category, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.5;

/// A request for a list of tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListRequest<'a> {
    /// Only tools of this category and its subcategories, or of the server with this name.
    pub category: Option<&'a str>,
    /// Also tools that are not offered.
    pub include_disabled: bool,
}

/// Lists the known tools in less than 500 tokens, whatever their number: with summaries, else by name, else as
/// categories or servers with counts. Always includes the total and how to narrow the list.
pub fn list_text(catalog: &Catalog, request: &ListRequest<'_>) -> String {
    let selection = Selection::of(catalog, request);
    if selection.tools.is_empty() {
        return nothing(catalog, request);
    }
    let stale = stale_line(&failed_servers(selection.tools.iter().copied()));
    let stale = stale.map(|line| format!("\n{line}"));
    let listing = Listing {
        categories: selection.categories(),
        servers: selection.servers(),
        tail: format!("{}{}", missing(catalog), stale.unwrap_or_default()),
        wanted: request.category.map(without_count),
        selection,
    };
    let mut text = listing
        .lines()
        .or_else(|| listing.names())
        .or_else(|| listing.all_groups(&listing.categories, "category"))
        .or_else(|| listing.all_groups(&listing.servers, "server"))
        .unwrap_or_else(|| listing.some());
    if let Some((entry, body)) = instructions::for_request(catalog, request) {
        text.push_str(&instructions::quote(entry, &body));
    }
    text
}

/// Returns the response for an unknown category, or when no tools are known.
pub(crate) fn nothing(catalog: &Catalog, request: &ListRequest<'_>) -> String {
    let status = missing(catalog);
    let wanted = request
        .category
        .map(without_count)
        .filter(|wanted| !wanted.is_empty());
    let whole = Selection::of(
        catalog,
        &ListRequest {
            category: None,
            ..*request
        },
    );
    let Some(wanted) = wanted.filter(|_| !whole.tools.is_empty()) else {
        return format!("{NOTHING_KNOWN}{status}");
    };
    let head = format!("No category or server is called {}.", quoted(wanted));
    let tail = format!(" list_available_tools() shows all.{status}");
    let mut out = BudgetedText::of(LIST_TOKENS)
        .reserving(&head)
        .reserving(&tail);
    let _ = out.add(&suggest_categories(&whole, wanted));
    format!("{head}{}", out.ending_with(&tail))
}

fn suggest_categories(whole: &Selection<'_>, wanted: &str) -> String {
    let mut groups = whole.categories();
    groups.extend(whole.servers());
    let folded = |name: &str| {
        name.chars()
            .take(COMPARED_CHARS)
            .flat_map(char::to_lowercase)
            .collect::<String>()
    };
    let wanted = folded(wanted);
    let similarity = |name: &str| {
        let name = folded(name);
        let similarity = strsim::normalized_damerau_levenshtein(&wanted, &name);
        if name.contains(&wanted) {
            similarity.max(MIN_SIMILARITY)
        } else {
            similarity
        }
    };
    let mut similar: Vec<(f64, &str)> = groups
        .iter()
        .map(|(name, _)| (similarity(name), *name))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .collect();
    similar.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    similar.dedup_by_key(|(_, name)| *name);
    let similar: Vec<String> = similar
        .iter()
        .take(NAMED_CATEGORIES)
        .map(|(_, name)| line(name, 60))
        .collect();
    if !similar.is_empty() {
        return format!(" Did you mean {}?", similar.join(", "));
    }
    let some = largest_first(whole.servers());
    let some: Vec<String> = some.iter().take(NAMED_CATEGORIES).map(shown).collect();
    format!(" There are {}.", some.join(", "))
}

struct Listing<'a> {
    selection: Selection<'a>,
    categories: Vec<Group<'a>>,
    servers: Vec<Group<'a>>,
    /// Text below every list.
    tail: String,
    /// The requested category or server.
    wanted: Option<&'a str>,
}

impl Listing<'_> {
    /// Lists each tool with its summary.
    fn lines(&self) -> Option<String> {
        // A request for one category that is shown completely needs no hint how to narrow it.
        let tail = if self.categories.len() > 1 && self.wanted.is_none() {
            format!("{}{}", self.tail, self.how_to_narrow(&self.categories))
        } else {
            self.tail.clone()
        };
        let mut out = BudgetedText::of(LIST_TOKENS).reserving(&tail);
        let head = format!("{}:", count(self.selection.tools.len(), "tool"));
        let fits = out.add(&head)
            && self.selection.tools.iter().all(|tool| {
                let summary = line(tool.summary(), 200);
                let note = tool.note().map(|note| format!(" (note: {note})"));
                out.add(&format!(
                    "\n{}: {summary}{}{}",
                    tool.exposed(),
                    disabled(tool),
                    note.unwrap_or_default()
                ))
            });
        fits.then(|| out.ending_with(&tail))
    }

    /// Lists the names of the tools, by server.
    fn names(&self) -> Option<String> {
        let tail = format!("{}{}", self.tail, self.how_to_narrow(self.narrower()));
        let mut out = BudgetedText::of(LIST_TOKENS).reserving(&tail);
        let mut fits = out.add(&format!("{}, each called server__tool:", self.total()));
        let mut last = None;
        for tool in &self.selection.tools {
            let group_name = tool.server().map_or("", |_| group_name(tool));
            let alike = tool.note().map_or("", |_| " (look-alike name)");
            let name = format!("{}{}{alike}", short_name(tool), disabled(tool));
            let piece = match (last == Some(group_name), group_name) {
                (true, _) => format!(", {name}"),
                // A static tool has no server.
                (false, "") => format!("\n{name}"),
                (false, _) => format!("\n{group_name}: {name}"),
            };
            last = Some(group_name);
            fits = fits && out.add(&piece);
            if !fits {
                return None;
            }
        }
        Some(out.ending_with(&tail))
    }

    /// Lists every group with its number of tools.
    fn all_groups(&self, groups: &[Group<'_>], noun: &str) -> Option<String> {
        // A single group for everything is no information.
        if groups.len() < 2 {
            return None;
        }
        let tail = format!("{}{}", self.tail, self.how_to_narrow(groups));
        let mut out = BudgetedText::of(LIST_TOKENS).reserving(&tail);
        let mut fits = out.add(&format!("{}, by {noun}:\n", self.total()));
        for (at, group) in groups.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            fits = fits && out.add(&format!("{comma}{}", shown(group)));
            if !fits {
                return None;
            }
        }
        Some(out.ending_with(&tail))
    }

    /// Lists as much as fits: the largest servers; for one server its largest categories; for one category its
    /// first tools.
    fn some(&self) -> String {
        let (pieces, noun): (Vec<(String, usize)>, &str) = if self.servers.len() > 1 {
            (pieces(&self.servers), "server")
        } else if self.categories.len() > 1 {
            (pieces(&self.categories), "category")
        } else {
            let tools = self.selection.tools.iter();
            (
                tools.map(|tool| (tool.exposed().to_string(), 1)).collect(),
                "tool",
            )
        };
        let tail = format!("{}{}", self.tail, self.how_to_narrow(self.narrower()));
        let left_out = |left: usize, tools: usize| match noun {
            "tool" => format!("\n+{}", count(left, "more tool")),
            _ => format!(
                "\n+{left} more {} with {}",
                count(left, noun)
                    .split_once(' ')
                    .map_or("", |(_, noun)| noun),
                count(tools, "tool")
            ),
        };
        let worst = left_out(pieces.len(), self.selection.tools.len());
        let mut out = BudgetedText::of(LIST_TOKENS)
            .reserving(&tail)
            .reserving(&worst);
        let head = match noun {
            "tool" => format!("{}, the first:\n", self.total()),
            _ => format!("{}, the largest by {noun}:\n", self.total()),
        };
        let _ = out.add(&head);
        let mut written = 0;
        let mut tools = 0;
        for (piece, held) in &pieces {
            let comma = if written > 0 { ", " } else { "" };
            if !out.add(&format!("{comma}{piece}")) {
                break;
            }
            written += 1;
            tools += held;
        }
        let more = left_out(pieces.len() - written, self.selection.tools.len() - tools);
        out.ending_with(&format!("{more}{tail}"))
    }

    /// Returns how to narrow the list.
    fn how_to_narrow(&self, groups: &[Group<'_>]) -> String {
        match narrower_example(groups, self.wanted) {
            Some(name) => {
                format!("\nNarrow down: list_available_tools(category=\"{name}\") or search_tools.")
            }
            None => "\nNarrow down with search_tools.".to_owned(),
        }
    }

    /// Returns the groups of the list: servers, or the categories of a single server.
    fn narrower(&self) -> &[Group<'_>] {
        if self.servers.len() > 1 {
            &self.servers
        } else {
            &self.categories
        }
    }

    fn total(&self) -> String {
        let tools = count(self.selection.tools.len(), "tool");
        match self.servers.len() {
            1 => tools,
            servers => format!("{tools} of {}", count(servers, "server")),
        }
    }
}

fn pieces(groups: &[Group<'_>]) -> Vec<(String, usize)> {
    let largest = largest_first(groups.to_vec());
    largest
        .iter()
        .map(|group| (shown(group), group.1))
        .collect()
}

pub(crate) fn shown((name, tools): &Group<'_>) -> String {
    format!("{} ({tools})", line(name, 120))
}

fn disabled(tool: &ToolView<'_>) -> &'static str {
    if tool.enabled() { "" } else { " (disabled)" }
}
