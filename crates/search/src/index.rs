//! The index over all segments: one vocabulary, postings by term, and dictionaries of names.

use std::fmt;
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;

use crate::fuzzy_dict::FuzzyDict;
use crate::interner::Key;
use crate::merge::{MergedPostings, TermFrequency};
use crate::scratch::Scratch;
use crate::segment::{NAME_FORMS, Segment};
use crate::text::ToolPosition;
use crate::vocabulary::{TermLocation, Vocabulary, name_words, word_of};

/// The index over all segments. Building it does not read texts again: terms are matched by their stored keys, and
/// counts are copied.
pub struct Index {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// The number of the first tool of each segment, followed by the total number of tools.
    bases: Vec<u32>,
    segment_of: Vec<u32>,
    /// Finds a term by its text.
    table: HashTable<(Key, u32)>,
    /// A segment that contains each term, and its number there.
    terms: Vec<TermLocation>,
    merged: MergedPostings,
    names: FuzzyDict,
    /// The words of names with their terms, and a dictionary to find them despite typos.
    name_words: Vec<(TermLocation, u32)>,
    name_word_dict: FuzzyDict,
    servers: HashTable<u32>,
    /// Pool of search buffers. They are as long as the catalog, so allocating them costs more than many searches.
    pub(crate) scratches: Mutex<Vec<Scratch>>,
}

impl Index {
    /// Builds an index; [`ToolPosition::segment`] counts the segments in this order.
    pub fn new(segments: impl IntoIterator<Item = Arc<Segment>>) -> Self {
        let segments: Vec<Arc<Segment>> = segments.into_iter().collect();
        let mut bases = Vec::with_capacity(segments.len() + 1);
        let mut segment_of = Vec::new();
        for (number, segment) in (0_u32..).zip(&segments) {
            bases.push(segment_of.len() as u32);
            segment_of.resize(segment_of.len() + segment.len(), number);
        }
        bases.push(segment_of.len() as u32);

        let mut vocabulary = Vocabulary::default();
        let global: Vec<Vec<u32>> = (0..)
            .zip(&segments)
            .map(|(number, segment)| vocabulary.add(number, segment, &segments))
            .collect();
        let merged = MergedPostings::new(&segments, &bases, &global, vocabulary.terms.len());
        let name_words = name_words(&segments, &global);
        let word_at = |location: TermLocation| {
            segments
                .get(location.segment as usize)
                .map(|s| s.name_words.get(location.local))
        };
        let name_word_dict = FuzzyDict::new(
            (0..)
                .zip(&name_words)
                .filter_map(|(id, (location, _))| Some((id, word_at(*location)?))),
        );
        let names = names(&segments);
        let servers = servers(&segments);
        Self {
            bases,
            segment_of,
            table: vocabulary.table,
            terms: vocabulary.terms,
            merged,
            names,
            name_words,
            name_word_dict,
            servers,
            segments,
            scratches: Mutex::new(Vec::new()),
        }
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.segment_of.len()
    }

    /// Whether the index has no tools.
    pub fn is_empty(&self) -> bool {
        self.segment_of.is_empty()
    }

    /// The position of the tool with a number.
    pub(crate) fn at(&self, tool: u32) -> ToolPosition {
        let segment = self.segment_of.get(tool as usize).copied().unwrap_or(0) as usize;
        let base = self.bases.get(segment).copied().unwrap_or(0);
        ToolPosition {
            segment,
            tool: tool.saturating_sub(base) as usize,
        }
    }

    /// The number of the tool at a position.
    pub(crate) fn number(&self, at: ToolPosition) -> Option<u32> {
        let known = self.segments.get(at.segment)?.len();
        let base = self.bases.get(at.segment)?;
        (at.tool < known).then(|| base + at.tool as u32)
    }

    /// The numbers of the tools of a segment.
    pub(crate) fn range(&self, segment: usize) -> std::ops::Range<usize> {
        let base = |at: usize| self.bases.get(at).map_or(0, |base| *base as usize);
        base(segment)..base(segment + 1)
    }

    pub(crate) fn exposed(&self, tool: u32) -> &str {
        let at = self.at(tool);
        self.segments
            .get(at.segment)
            .map_or("", |segment| segment.exposed(at.tool))
    }

    pub(crate) fn term(&self, word: &str) -> Option<u32> {
        let key = Key::of(word);
        let same = |(known, term): &(Key, u32)| {
            *known == key && (key.is_whole() || self.word_of(*term) == word)
        };
        let found = self.table.find(key.hash(), same);
        found.map(|(_, term)| *term)
    }

    /// The text of a term in its indexed form.
    pub(crate) fn word_of(&self, term: u32) -> &str {
        word_of(&self.terms, &self.segments, term)
    }

    /// The fields of a tool that contain a term, as bits.
    pub(crate) fn fields_of(&self, tool: u32, term: u32) -> u8 {
        let at = self.at(tool);
        let Some(segment) = self.segments.get(at.segment) else {
            return 0;
        };
        // Only explanations need this, so a linear search is fine.
        let word = self.word_of(term);
        let local = (0..segment.terms.len() as u32).find(|local| segment.terms.get(*local) == word);
        let postings = local.map_or(&[][..], |local| segment.postings_of(local));
        let own = postings
            .iter()
            .filter(|posting| posting.tool as usize == at.tool);
        own.fold(0, |bits, posting| bits | 1 << posting.field)
    }

    /// The tools that contain a term, with its frequency in each.
    pub(crate) fn tools_of(&self, term: u32) -> &[TermFrequency] {
        self.merged.of_term(term)
    }

    /// The sum of the IDFs of the terms in a tool's name.
    pub(crate) fn name_idf_sum(&self, tool: usize) -> f32 {
        self.merged.name_idf_sums.get(tool).copied().unwrap_or(0.0)
    }

    /// The segment of the server with this folded name.
    pub(crate) fn server_named(&self, folded: &str) -> Option<usize> {
        let name = |at: &u32| self.segments.get(*at as usize)?.server.as_deref();
        let same = |at: &u32| name(at) == Some(folded);
        let found = self.servers.find(Key::of(folded).hash(), same);
        found.map(|at| *at as usize)
    }

    pub(crate) fn name_table<'s>(&'s self) -> (&'s FuzzyDict, impl Fn(u32) -> &'s str) {
        (&self.names, |id| {
            let at = self.at(id / NAME_FORMS);
            let segment = self.segments.get(at.segment);
            segment.map_or("", |s| s.folded_name(at.tool as u32, id % NAME_FORMS))
        })
    }

    /// Length of the server's name at the start of a name form.
    pub(crate) fn server_letters(&self, name: u32) -> usize {
        if name.is_multiple_of(NAME_FORMS) {
            return 0;
        }
        let segment = self.segments.get(self.at(name / NAME_FORMS).segment);
        segment
            .and_then(|segment| segment.server.as_ref())
            .map_or(0, String::len)
    }

    /// Calls back with the terms of name words that differ from a word by typos, and the number of typos.
    pub(crate) fn find_typos(&self, word: &str, max_typos: u8, mut found: impl FnMut(u32, u8)) {
        let text = |id: u32| {
            let location = self
                .name_words
                .get(id as usize)
                .map(|(location, _)| location);
            location
                .and_then(|location| {
                    Some((
                        self.segments.get(location.segment as usize)?,
                        location.local,
                    ))
                })
                .map_or("", |(segment, local)| segment.name_words.get(local))
        };
        self.name_word_dict
            .find_typos(word, max_typos, text, |id, typos| {
                if let Some((_, term)) = self.name_words.get(id as usize) {
                    found(*term, typos);
                }
            });
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.debug_struct("Index")
            .field("segments", &self.segments.len())
            .field("tools", &self.len())
            .field("terms", &self.terms.len())
            .finish_non_exhaustive()
    }
}

fn names(segments: &[Arc<Segment>]) -> FuzzyDict {
    let of_segment = |segment: &Arc<Segment>| segment.len() as u32;
    let mut base = 0;
    let mut all = Vec::new();
    for segment in segments {
        for tool in 0..of_segment(segment) {
            for form in 0..NAME_FORMS {
                let name = segment.folded_name(tool, form);
                let again = (0..form).any(|before| segment.folded_name(tool, before) == name);
                if !name.is_empty() && !again {
                    all.push(((base + tool) * NAME_FORMS + form, name));
                }
            }
        }
        base += of_segment(segment);
    }
    FuzzyDict::new(all.into_iter())
}

fn servers(segments: &[Arc<Segment>]) -> HashTable<u32> {
    let mut table = HashTable::new();
    let name = |at: u32| segments.get(at as usize).and_then(|s| s.server.as_deref());
    for at in 0..segments.len() as u32 {
        let Some(own) = name(at).filter(|name| !name.is_empty()) else {
            continue;
        };
        let hash = Key::of(own).hash();
        if table
            .find(hash, |other| name(*other) == Some(own))
            .is_none()
        {
            table.insert_unique(hash, at, |at| Key::of(name(*at).unwrap_or_default()).hash());
        }
    }
    table
}
