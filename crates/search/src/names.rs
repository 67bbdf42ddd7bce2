//! Requests that are the name of a tool, the start of one, or one with typos.

use crate::index::Index;
use crate::parsed_query::ParsedQuery;
use crate::scratch::{Scratch, fill};
use crate::segment::NAME_FORMS;
use crate::weights::{
    EXACT_NAME, PREFIX_CLOSENESS, PREFIX_NAME, SHORTEST_PREFIX, SHORTEST_TWO_TYPOS, SHORTEST_TYPO,
    TYPO_NAME, TYPO_NAME_WORDS,
};

/// Prefixes that make looking for typos needless.
const ENOUGH: usize = 3;

impl Index {
    /// Writes what the names are worth, and says whether the request is one.
    pub(crate) fn score_names(&self, parsed: &ParsedQuery, scratch: &mut Scratch) -> bool {
        let name = parsed.folded.as_str();
        scratch.names.clear();
        if name.is_empty() {
            return false;
        }
        let (table, text) = self.name_table();
        let mut found: Vec<(u32, f32)> = Vec::new();
        table.same(name, &text, |id| found.push((id, EXACT_NAME)));
        let exact = !found.is_empty();
        let mut started = 0;
        if name.len() >= SHORTEST_PREFIX {
            table.longer(name, &text, |id, length| {
                // The start of a server's name is not the start of the names of all its tools.
                if name.len() > self.server_letters(id) {
                    started += 1;
                    let close = PREFIX_CLOSENESS * name.len() as f32 / length as f32;
                    found.push((id, PREFIX_NAME + close));
                }
            });
        }
        let typed = parsed.one_piece || parsed.unknown;
        let short = parsed.words.len() <= TYPO_NAME_WORDS && name.len() >= SHORTEST_TYPO;
        if !exact && started < ENOUGH && typed && short {
            let most = if name.len() < SHORTEST_TWO_TYPOS {
                1
            } else {
                2
            };
            let [one, two] = TYPO_NAME;
            table.mistyped(name, 1, &text, |id, _| found.push((id, one)));
            if found.is_empty() && most > 1 {
                table.mistyped(name, 2, &text, |id, _| found.push((id, two)));
            }
        }
        if found.is_empty() {
            return false;
        }
        fill(&mut scratch.names, self.len(), 0.0);
        for (id, worth) in found {
            if let Some(slot) = scratch.names.get_mut((id / NAME_FORMS) as usize) {
                *slot = slot.max(worth);
            }
        }
        exact
    }
}
