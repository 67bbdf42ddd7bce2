//! The same tool of several servers: `create_issue` of four trackers is one line of a result.

use std::collections::HashSet;

use super::Hit;
use crate::view::ToolView;

/// Share of common words from which two descriptions say the same.
const SAME_WORDS: f32 = 0.25;
/// Words of a description that are compared; what a tool does is at its beginning.
const COMPARED_WORDS: usize = 40;

/// A line of a result: the best hit, and the same tool of other servers.
#[derive(Debug)]
pub struct HitLine<'a> {
    /// The best hit.
    pub hit: Hit<'a>,
    /// The same tool of other servers, best first.
    pub twins: Vec<ToolView<'a>>,
}

/// Groups hits into lines, at most `limit`.
pub fn lines<'a>(hits: Vec<Hit<'a>>, limit: usize) -> Vec<HitLine<'a>> {
    let mut lines: Vec<HitLine<'a>> = Vec::new();
    for hit in hits {
        let is_twin = |line: &&mut HitLine<'a>| are_twins(&line.hit.tool, &hit.tool);
        if let Some(line) = lines.iter_mut().find(is_twin) {
            line.twins.push(hit.tool);
        } else if lines.len() < limit {
            let twins = Vec::new();
            lines.push(HitLine { hit, twins });
        }
    }
    lines
}

/// Returns whether two servers offer the same tool: it has the same name, apart from case and separators, and their
/// descriptions share words. `search` of a mailbox and of a shop are different tools.
fn are_twins(one: &ToolView<'_>, other: &ToolView<'_>) -> bool {
    let folded = |tool: &ToolView<'_>| {
        let letters = tool.name().chars().filter(|c| c.is_alphanumeric());
        letters.map(|c| c.to_ascii_lowercase()).collect::<String>()
    };
    if one.server() == other.server() || folded(one) != folded(other) {
        return false;
    }
    let (one, other) = (words(&one.description()), words(&other.description()));
    let common = one.intersection(&other).count() as f32;
    let all = one.union(&other).count() as f32;
    common >= SAME_WORDS * all
}

fn words(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| word.len() > 2).take(COMPARED_WORDS);
    words.map(str::to_lowercase).collect()
}
