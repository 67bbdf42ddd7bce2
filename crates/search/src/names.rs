//! Queries that are a tool name, a prefix of one, or one with typos.

use crate::index::Index;
use crate::parsed_query::ParsedQuery;
use crate::scratch::{Scratch, fill};
use crate::segment::NAME_FORMS;
use crate::weights::{
    EXACT_NAME, PREFIX_CLOSENESS, PREFIX_NAME, SHORTEST_PREFIX, SHORTEST_TWO_TYPOS, SHORTEST_TYPO,
    TYPO_NAME, TYPO_NAME_WORDS,
};

/// Number of prefix matches above which typos are not considered.
const ENOUGH: usize = 3;

impl Index {
    /// Scores all tools by name. Returns whether the query is exactly a name.
    pub(crate) fn score_names(&self, parsed: &ParsedQuery, scratch: &mut Scratch) -> bool {
        let name = parsed.folded.as_str();
        scratch.names.clear();
        if name.is_empty() {
            return false;
        }
        let (table, text) = self.name_table();
        let mut found: Vec<(u32, f32)> = Vec::new();
        table.find_exact(name, &text, |id| found.push((id, EXACT_NAME)));
        let exact = !found.is_empty();
        let mut prefixes = 0;
        if name.len() >= SHORTEST_PREFIX {
            table.find_prefix(name, &text, |id, length| {
                // A prefix of the server name does not match all tools of the server.
                if name.len() > self.server_letters(id) {
                    prefixes += 1;
                    let close = PREFIX_CLOSENESS * name.len() as f32 / length as f32;
                    found.push((id, PREFIX_NAME + close));
                }
            });
        }
        let may_be_name = parsed.is_single_token || parsed.has_unknown_word;
        let short = parsed.words.len() <= TYPO_NAME_WORDS && name.len() >= SHORTEST_TYPO;
        if !exact && prefixes < ENOUGH && may_be_name && short {
            let max_typos = if name.len() < SHORTEST_TWO_TYPOS {
                1
            } else {
                2
            };
            let [one, two] = TYPO_NAME;
            table.find_typos(name, 1, &text, |id, _| found.push((id, one)));
            if found.is_empty() && max_typos > 1 {
                table.find_typos(name, 2, &text, |id, _| found.push((id, two)));
            }
        }
        if found.is_empty() {
            return false;
        }
        fill(&mut scratch.names, self.len(), 0.0);
        for (id, score) in found {
            if let Some(slot) = scratch.names.get_mut((id / NAME_FORMS) as usize) {
                *slot = slot.max(score);
            }
        }
        exact
    }
}
