//! Warns about tools of one server whose names look alike.

use std::collections::HashMap;
use std::fmt::Write;

use pegboard_guard::confusable_groups;
use pegboard_model::Tool;

/// Similar names that a remark lists.
const NAMED: usize = 4;
/// Characters of a name that are shown in a remark.
const NAME_LENGTH: usize = 80;

/// Returns remarks about look-alike tool names, by position in the server's record.
pub(crate) fn remarks(tools: &[Tool]) -> HashMap<usize, Box<str>> {
    let mut remarks = HashMap::new();
    for group in confusable_groups(tools.iter().map(|tool| tool.name.as_str())) {
        for at in &group {
            remarks.insert(*at, remark(tools, *at, &group).into_boxed_str());
        }
    }
    remarks
}

fn remark(tools: &[Tool], at: usize, group: &[usize]) -> String {
    let name = |at: usize| {
        tools
            .get(at)
            .map_or_else(String::new, |tool| spelled(&tool.name))
    };
    let others: Vec<usize> = group.iter().copied().filter(|other| *other != at).collect();
    let named: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|other| name(*other))
        .collect();
    let more = others.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!(
        "the name {} looks like {}{more} of the same server; make sure which one is meant",
        name(at),
        named.join(", ")
    )
}

/// Quotes a name and escapes everything except printable ASCII, so that the difference becomes visible.
fn spelled(name: &str) -> String {
    let mut spelled = String::from("\"");
    for character in name.chars().take(NAME_LENGTH) {
        match character {
            ' '..='~' => spelled.push(character),
            // Writing to a string cannot fail.
            other => drop(write!(spelled, "\\u{{{:x}}}", u32::from(other))),
        }
    }
    if name.chars().nth(NAME_LENGTH).is_some() {
        spelled.push('…');
    }
    spelled.push('"');
    spelled
}
