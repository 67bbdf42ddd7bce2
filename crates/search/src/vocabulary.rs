//! The vocabulary of all segments. Words are not copied; a term refers to a segment that contains it.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::interner::Key;
use crate::segment::Segment;

/// A segment that contains a word, and its number there.
#[derive(Clone, Copy)]
pub(crate) struct TermLocation {
    pub(crate) segment: u32,
    pub(crate) local: u32,
}

#[derive(Default)]
pub(crate) struct Vocabulary {
    /// Finds a term by its text.
    pub(crate) table: HashTable<(Key, u32)>,
    pub(crate) terms: Vec<TermLocation>,
}

impl Vocabulary {
    /// Adds a segment and returns the index-wide numbers of its terms.
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
                self.terms.push(TermLocation {
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

/// The text of a term in its indexed form.
pub(crate) fn word_of<'s>(
    terms: &[TermLocation],
    segments: &'s [Arc<Segment>],
    term: u32,
) -> &'s str {
    let location = terms.get(term as usize);
    location
        .and_then(|location| Some((segments.get(location.segment as usize)?, location.local)))
        .map_or("", |(segment, local)| segment.terms.get(local))
}

/// The distinct words of all names, with their terms.
pub(crate) fn name_words(
    segments: &[Arc<Segment>],
    global: &[Vec<u32>],
) -> Vec<(TermLocation, u32)> {
    let mut seen: HashTable<(Key, u32)> = HashTable::new();
    let mut words: Vec<(TermLocation, u32)> = Vec::new();
    for ((number, segment), global) in (0..).zip(segments).zip(global) {
        for (local, term) in (0..).zip(&segment.name_word_terms) {
            let key = segment.name_words.key(local);
            let same = |(known, id): &(Key, u32)| {
                let location = words.get(*id as usize).map(|(location, _)| location);
                let word = || {
                    let location = location?;
                    let segment = segments.get(location.segment as usize)?;
                    Some(segment.name_words.get(location.local))
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
                    TermLocation {
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
