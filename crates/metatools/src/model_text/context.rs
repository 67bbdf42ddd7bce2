//! A summary of the available tools for a system prompt, in less than 500 tokens.

use pegboard_catalog::Catalog;
use pegboard_guard::matches_pattern;

use super::budgeted_text::{BudgetedText, LIST_TOKENS};
use super::list::ListRequest;
use super::selection::{Group, Selection, group_name, largest_first, short_name};
use super::wording::{count, line};

/// Patterns of tools that are named in the summary, if none are configured.
pub const ESSENTIAL_PATTERNS: &[&str] = &[
    "*search*",
    "*github*",
    "*slack*",
    "*confluence*",
    "*jira*",
    "*calendar*",
    "*email*",
];

/// The summary when no tool is known.
const NOTHING_KNOWN: &str = "You have access to external tools through Pegboard. They are discovered when they are \
first needed: find one with search_tools.";
const HOW_TO_USE: &str = "\nFind a tool with search_tools, read what it takes with get_tool_description, run it \
with call_tool.";
/// How many essential tools of each server are named; tried in this order until all servers fit.
const NAMED: &[usize] = &[5, 4, 3, 2, 1];

/// Returns a summary for a system prompt in less than 500 tokens, whatever the number of tools: for each server
/// the tools whose names match a pattern, and the number of the others. If `essential` is empty,
/// [`ESSENTIAL_PATTERNS`] are used.
pub fn context_summary(catalog: &Catalog, essential: &[String]) -> String {
    let selection = Selection::of(catalog, &ListRequest::default());
    if selection.tools.is_empty() {
        return NOTHING_KNOWN.to_owned();
    }
    let servers = servers(&selection, essential);
    let tools = count(selection.tools.len(), "tool");
    let head = format!(
        "You have access to {tools} of {} through Pegboard:",
        count(servers.len(), "server")
    );
    let named = NAMED
        .iter()
        .find_map(|most| in_lines(&head, &servers, *most));
    named
        .or_else(|| in_one_line(&head, &servers))
        .unwrap_or_else(|| largest(&head, &servers))
}

struct Server<'a> {
    name: &'a str,
    tools: usize,
    /// The first tools that match a pattern.
    essential: Vec<&'a str>,
}

fn servers<'a>(selection: &Selection<'a>, essential: &[String]) -> Vec<Server<'a>> {
    let patterns: Vec<String> = if essential.is_empty() {
        ESSENTIAL_PATTERNS
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect()
    } else {
        essential
            .iter()
            .map(|pattern| pattern.to_lowercase())
            .collect()
    };
    let is_essential = |name: &str| {
        let name = name.to_lowercase();
        patterns
            .iter()
            .any(|pattern| matches_pattern(pattern, &name))
    };
    let most = NAMED.first().copied().unwrap_or_default();
    let mut servers: Vec<Server<'a>> = Vec::new();
    // The tools are sorted by server, with the static ones in between.
    let mut places: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    for tool in &selection.tools {
        let name = group_name(tool);
        let place = *places.entry(name).or_insert(servers.len());
        if place == servers.len() {
            servers.push(Server {
                name,
                tools: 0,
                essential: Vec::new(),
            });
        }
        let Some(server) = servers.get_mut(place) else {
            continue;
        };
        server.tools += 1;
        let matched = || is_essential(tool.exposed().as_str()) || is_essential(tool.name());
        if server.essential.len() < most && matched() {
            server.essential.push(short_name(tool));
        }
    }
    servers.sort_by_key(|server| server.name);
    servers
}

/// Writes one line for each server.
fn in_lines(head: &str, servers: &[Server<'_>], most: usize) -> Option<String> {
    let mut out = BudgetedText::of(LIST_TOKENS).reserving(HOW_TO_USE);
    let mut fits = out.add(head);
    for server in servers {
        let name = line(server.name, 60);
        let named: Vec<&str> = server.essential.iter().take(most).copied().collect();
        let text = match (named.is_empty(), server.tools - named.len()) {
            (true, _) => format!("\n- {name}: {}", count(server.tools, "tool")),
            (false, 0) => format!("\n- {name}: {}", named.join(", ")),
            (false, more) => format!("\n- {name}: {}, +{more} more", named.join(", ")),
        };
        fits = fits && out.add(&text);
        if !fits {
            return None;
        }
    }
    Some(out.ending_with(HOW_TO_USE))
}

/// Writes every server with its number of tools.
fn in_one_line(head: &str, servers: &[Server<'_>]) -> Option<String> {
    let mut out = BudgetedText::of(LIST_TOKENS).reserving(HOW_TO_USE);
    let mut fits = out.add(head);
    for (at, server) in servers.iter().enumerate() {
        let before = if at > 0 { ", " } else { "\n" };
        fits = fits
            && out.add(&format!(
                "{before}{} ({})",
                line(server.name, 60),
                server.tools
            ));
        if !fits {
            return None;
        }
    }
    Some(out.ending_with(HOW_TO_USE))
}

/// Writes the largest servers and counts the others.
fn largest(head: &str, servers: &[Server<'_>]) -> String {
    let groups: Vec<Group<'_>> = servers
        .iter()
        .map(|server| (server.name, server.tools))
        .collect();
    let left_out = |servers: usize, tools: usize| {
        format!("\n+{servers} more servers with {}", count(tools, "tool"))
    };
    let all: usize = groups.iter().map(|(_, tools)| tools).sum();
    let mut out = BudgetedText::of(LIST_TOKENS)
        .reserving(HOW_TO_USE)
        .reserving(&left_out(groups.len(), all));
    let _ = out.add(head);
    let (mut written, mut counted) = (0, 0);
    for (name, tools) in largest_first(groups) {
        let before = if written > 0 { ", " } else { "\n" };
        if !out.add(&format!("{before}{} ({tools})", line(name, 60))) {
            break;
        }
        written += 1;
        counted += tools;
    }
    out.ending_with(&format!(
        "{}{HOW_TO_USE}",
        left_out(servers.len() - written, all - counted)
    ))
}
