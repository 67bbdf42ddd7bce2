//! Plain keyword search: case-insensitive words over names, summaries, descriptions and servers.

use std::cmp::Reverse;

use pegboard_model::{Tool, ToolOverride};

use crate::snapshot::Catalog;
use crate::view::ToolView;
use crate::words::{word_line, words};

/// Words of a query that count.
const QUERY_WORDS: usize = 16;
/// Characters of a query that count.
const QUERY_LENGTH: usize = 400;
/// Words that are left out of a query that has others.
const STOP_WORDS: &[&str] = &[
    "a", "an", "and", "at", "by", "for", "from", "in", "is", "it", "of", "on", "or", "the", "to",
    "with",
];

/// What a match is worth. Matching one word more beats any better match of fewer words, and a name
/// beats them all.
mod worth {
    pub(super) const WHOLE_NAME: u32 = 100_000;
    pub(super) const START_OF_NAME: u32 = 50_000;
    pub(super) const EACH_WORD: u32 = 1_000;
    pub(super) const WORD_OF_NAME: u32 = 60;
    pub(super) const START_OF_WORD: u32 = 40;
    pub(super) const PART_OF_NAME: u32 = 25;
    pub(super) const SERVER: u32 = 15;
    pub(super) const SUMMARY: u32 = 10;
    pub(super) const DESCRIPTION: u32 = 5;
}

/// A tool that a search found.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// The tool.
    pub tool: ToolView<'a>,
    /// How well it matches; only the order means something.
    pub score: u32,
}

/// What a search reads of a tool, in lower case.
#[derive(Debug)]
pub(crate) struct SearchText {
    /// The words of the name, joined by `_`.
    name: Box<str>,
    summary: Box<str>,
    description: Box<str>,
}

impl SearchText {
    pub(crate) fn of(tool: &Tool, user: Option<&ToolOverride>) -> Self {
        let own = user.and_then(|user| user.description.as_deref().map(str::to_lowercase));
        let given = || {
            let parts = tool.parts().ok();
            parts
                .and_then(|parts| parts.description.map(|text| text.to_lowercase()))
                .unwrap_or_default()
        };
        let summary = user
            .and_then(|user| user.summary.as_deref())
            .unwrap_or(&tool.summary);
        Self::new(&tool.name, summary, own.unwrap_or_else(given))
    }

    fn new(name: &str, summary: &str, description: String) -> Self {
        Self {
            name: word_line(name).replace(' ', "_").into(),
            summary: summary.to_lowercase().into(),
            description: description.into(),
        }
    }
}

struct Query {
    /// The whole query as a name would be written.
    name: String,
    words: Vec<String>,
}

impl Query {
    fn of(text: &str) -> Self {
        let text: String = text.trim().chars().take(QUERY_LENGTH).collect();
        let mut found: Vec<String> = words(&text).into_iter().take(QUERY_WORDS).collect();
        let name = found.join("_");
        if found
            .iter()
            .any(|word| !STOP_WORDS.contains(&word.as_str()))
        {
            found.retain(|word| !STOP_WORDS.contains(&word.as_str()));
        }
        Self { name, words: found }
    }

    fn score(&self, server: &str, text: &SearchText) -> u32 {
        let name = &*text.name;
        let qualified = name == self.name
            || self
                .name
                .strip_prefix(server)
                .and_then(|rest| rest.strip_prefix('_'))
                == Some(name);
        let mut score = match () {
            () if qualified => worth::WHOLE_NAME,
            () if name.starts_with(self.name.as_str()) => worth::START_OF_NAME,
            () => 0,
        };
        for word in &self.words {
            let word = word.as_str();
            let found = if name.split('_').any(|part| part == word) {
                worth::WORD_OF_NAME
            } else if name.split('_').any(|part| part.starts_with(word)) {
                worth::START_OF_WORD
            } else if name.contains(word) {
                worth::PART_OF_NAME
            } else if server.split('_').any(|part| part == word) {
                worth::SERVER
            } else if has_word(&text.summary, word) {
                worth::SUMMARY
            } else if has_word(&text.description, word) {
                worth::DESCRIPTION
            } else {
                continue;
            };
            score += worth::EACH_WORD + found;
        }
        score
    }
}

/// Whether some word of a text starts with this one. Scripts that write no spaces are taken anywhere.
fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        !word.is_ascii() || !before.is_some_and(char::is_alphanumeric)
    })
}

impl Catalog {
    /// The tools that match some words, the best first; equal ones by name. The texts that are read are
    /// made at the first search and kept with each server.
    pub fn search(&self, words: &str, limit: usize) -> Vec<Hit<'_>> {
        let query = Query::of(words);
        if query.words.is_empty() {
            return Vec::new();
        }
        let mut hits: Vec<Hit<'_>> = self
            .tools()
            .filter_map(|tool| {
                let score = match (tool.entry(), tool.position()) {
                    (Some(entry), Some(at)) => {
                        query.score(entry.name().as_str(), entry.search_texts().get(at)?)
                    }
                    _ => {
                        let description = tool.description().to_lowercase();
                        query.score(
                            "",
                            &SearchText::new(tool.name(), tool.summary(), description),
                        )
                    }
                };
                (score > 0).then_some(Hit { tool, score })
            })
            .collect();
        // The tools come sorted by name, and the sort keeps the order of equals.
        hits.sort_by_key(|hit| Reverse(hit.score));
        hits.truncate(limit);
        hits
    }
}
