//! A server's own instructions for models: on demand, attributed and bounded.

use pegboard_catalog::{Catalog, ServerEntry};

use super::list::ListRequest;
use super::selection::without_count;
use super::token_cost::cost;
use super::wording::{beginning, tidy};

/// Lengths in characters that are tried until the text fits. Clients truncate the instructions of their servers at
/// about the first one.
const LENGTHS: [usize; 5] = [2000, 1000, 500, 250, 100];
/// Token limit of the text.
const INSTRUCTION_TOKENS: u64 = 600;

/// Returns the instructions of the server that a list request selects, if it has any.
pub(crate) fn for_request<'a>(
    catalog: &'a Catalog,
    request: &ListRequest<'_>,
) -> Option<(&'a ServerEntry, String)> {
    let wanted = without_count(request.category?);
    let mut servers = catalog.servers().filter(|entry| entry.is_offered());
    let entry = servers.find(|entry| entry.name().as_str().eq_ignore_ascii_case(wanted))?;
    Some((entry, bounded(entry)?))
}

/// Returns whether a server has instructions.
pub(crate) fn exist(entry: &ServerEntry) -> bool {
    let instructions = entry.instructions();
    instructions.is_some_and(|text| !text.trim().is_empty())
}

/// Formats instructions below a list. Every line is marked, so that they cannot be mistaken for our own text.
pub(crate) fn quote(entry: &ServerEntry, instructions: &str) -> String {
    let lines: Vec<String> = instructions
        .lines()
        .map(|line| format!("\n> {line}"))
        .collect();
    format!("\nFrom server `{}`:{}", entry.name(), lines.concat())
}

/// Returns a server's instructions, bounded and without hidden characters.
fn bounded(entry: &ServerEntry) -> Option<String> {
    if !exist(entry) {
        return None;
    }
    let whole = tidy(entry.instructions()?);
    let mut text = String::new();
    for length in LENGTHS {
        let (kept, left) = beginning(&whole, length);
        text = match left {
            0 => kept.to_owned(),
            left => format!("{kept}… ({left} more characters)"),
        };
        if cost(&text) <= INSTRUCTION_TOKENS * 1000 {
            break;
        }
    }
    Some(text)
}
