//! One vocabulary for all segments. A word is not copied: its place in a segment stands for it.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::interner::Key;
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
    pub(crate) table: HashTable<(Key, u32)>,
    pub(crate) terms: Vec<Place>,
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
            let key = segment.terms.key(local);
            let same = |(known, term): &(Key, u32)| {
                let is_word = || word_of(&self.terms, segments, *term) == segment.terms.get(local);
                *known == key && (key.is_whole() || is_word())
            };
            let hash = key.hash();
            let known = self.table.find(hash, same).map(|(_, term)| *term);
            global.push(known.unwrap_or_else(|| {
                let term = self.terms.len() as u32;
                self.terms.push(Place {
                    segment: number,
                    local,
                });
                self.table
                    .insert_unique(hash, (key, term), |(key, _)| key.hash());
                term
            }));
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
    let mut seen: HashTable<(Key, u32)> = HashTable::new();
    let mut words: Vec<(Place, u32)> = Vec::new();
    for ((number, segment), global) in (0..).zip(segments).zip(global) {
        for (local, term) in (0..).zip(&segment.name_word_terms) {
            let key = segment.name_words.key(local);
            let same = |(known, id): &(Key, u32)| {
                let place = words.get(*id as usize).map(|(place, _)| place);
                let word = || {
                    let place = place?;
                    let segment = segments.get(place.segment as usize)?;
                    Some(segment.name_words.get(place.local))
                };
                *known == key && (key.is_whole() || word() == Some(segment.name_words.get(local)))
            };
            let Some(term) = global.get(*term as usize) else {
                continue;
            };
            let hash = key.hash();
            if seen.find(hash, same).is_none() {
                seen.insert_unique(hash, (key, words.len() as u32), |(key, _)| key.hash());
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
