//! A server's own instructions, as they reach a model: on demand, attributed and bounded.

use super::chosen::without_count;
use super::cost::cost;
use super::list::ListRequest;
use super::prose::{beginning, tidy};
use crate::entry::ServerEntry;
use crate::snapshot::Catalog;

/// Characters that are tried until the text is cheap enough. Clients cut the instructions of their own servers at
/// about the first number.
const LENGTHS: [usize; 5] = [2000, 1000, 500, 250, 100];
/// What the text may cost, in tokens.
const INSTRUCTION_TOKENS: u64 = 600;

/// The instructions of the server that a list is about, if it is about one and that has some.
pub(crate) fn asked_for<'a>(
    catalog: &'a Catalog,
    request: &ListRequest<'_>,
) -> Option<(&'a ServerEntry, String)> {
    let wanted = without_count(request.category?);
    let mut servers = catalog.servers().filter(|entry| entry.is_offered());
    let entry = servers.find(|entry| entry.name().as_str().eq_ignore_ascii_case(wanted))?;
    Some((entry, bounded(entry)?))
}

/// Whether a server has instructions.
pub(crate) fn has_some(entry: &ServerEntry) -> bool {
    let said = entry.record.instructions.as_deref();
    said.is_some_and(|said| !said.trim().is_empty())
}

/// Instructions below a list. Every line is marked, so that they cannot pass for words of ours.
pub(crate) fn marked(entry: &ServerEntry, said: &str) -> String {
    let lines: Vec<String> = said.lines().map(|line| format!("\n> {line}")).collect();
    format!("\nFrom server `{}`:{}", entry.name(), lines.concat())
}

/// Instructions that are free of hidden characters and not too long.
fn bounded(entry: &ServerEntry) -> Option<String> {
    if !has_some(entry) {
        return None;
    }
    let said = tidy(entry.record.instructions.as_deref()?);
    let mut text = String::new();
    for length in LENGTHS {
        let (kept, left) = beginning(&said, length);
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
