//! One vocabulary for all segments. A word is not copied: its place in a segment stands for it.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::segment::Segment;

/// Where a word is kept: a segment that has it, and its number there.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) local: u32,
}

#[derive(Default)]
pub(crate) struct Vocabulary {
    /// Finds a term by its word.
    pub(crate) table: HashTable<u32>,
    pub(crate) terms: Vec<Place>,
    hashes: Vec<u64>,
}

impl Vocabulary {
    /// The numbers that a segment's terms have in the whole index.
    pub(crate) fn add(
        &mut self,
        number: u32,
        segment: &Segment,
        segments: &[Arc<Segment>],
    ) -> Vec<u32> {
        let mut global = Vec::with_capacity(segment.terms.len());
        for local in 0..segment.terms.len() as u32 {
            let (hash, word) = (segment.terms.hash(local), segment.terms.get(local));
            let same = |term: &u32| word_of(&self.terms, segments, *term) == word;
            let term = self.table.find(hash, same).copied().unwrap_or_else(|| {
                let term = self.terms.len() as u32;
                self.terms.push(Place {
                    segment: number,
                    local,
                });
                self.hashes.push(hash);
                let hash_again = |term: &u32| self.hashes.get(*term as usize).copied().unwrap_or(0);
                self.table.insert_unique(hash, term, hash_again);
                term
            });
            global.push(term);
        }
        global
    }
}

/// The word of a term in its indexed form.
pub(crate) fn word_of<'s>(terms: &[Place], segments: &'s [Arc<Segment>], term: u32) -> &'s str {
    let place = terms.get(term as usize);
    place
        .and_then(|place| Some((segments.get(place.segment as usize)?, place.local)))
        .map_or("", |(segment, local)| segment.terms.get(local))
}

/// Each distinct word of a name once, with its term.
pub(crate) fn name_words(segments: &[Arc<Segment>], global: &[Vec<u32>]) -> Vec<(Place, u32)> {
    let mut seen: HashTable<(u64, u32)> = HashTable::new();
    let mut words: Vec<(Place, u32)> = Vec::new();
    for ((number, segment), global) in (0..).zip(segments).zip(global) {
        for (local, term) in (0..).zip(&segment.name_word_terms) {
            let (hash, word) = (
                segment.name_words.hash(local),
                segment.name_words.get(local),
            );
            let same = |(_, id): &(u64, u32)| {
                let place = words.get(*id as usize).map(|(place, _)| place);
                let known = place
                    .and_then(|p| Some(segments.get(p.segment as usize)?.name_words.get(p.local)));
                known == Some(word)
            };
            let Some(term) = global.get(*term as usize) else {
                continue;
            };
            if seen.find(hash, same).is_none() {
                seen.insert_unique(hash, (hash, words.len() as u32), |(hash, _)| *hash);
                words.push((
                    Place {
                        segment: number,
                        local,
                    },
                    *term,
                ));
            }
        }
    }
    words
}
