//! Segments together: one vocabulary, postings by term, and tables of names.

use std::fmt;
use std::sync::{Arc, Mutex};

use hashbrown::HashTable;

use crate::fuzzy_dict::FuzzyDict;
use crate::interner::Key;
use crate::merge::{MergedPostings, Worth};
use crate::scratch::Scratch;
use crate::segment::{NAME_FORMS, Segment};
use crate::text::ToolPosition;
use crate::vocabulary::{Place, Vocabulary, name_words, word_of};

/// The tools of all segments. Building it reads no text again: words are matched by their kept hashes, and
/// numbers are copied.
pub struct Index {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// The number of the first tool of each segment, and behind the last one the number of tools.
    bases: Vec<u32>,
    segment_of: Vec<u32>,
    /// Finds a term by its word.
    table: HashTable<(Key, u32)>,
    /// Where each term's word is kept: a segment that has it, and its number there.
    terms: Vec<Place>,
    merged: MergedPostings,
    names: FuzzyDict,
    /// The words of names: where each is kept, its term, and a table to find mistyped ones.
    name_words: Vec<(Place, u32)>,
    near_words: FuzzyDict,
    servers: HashTable<u32>,
    /// Buffers of searches that are done. They are as long as the catalog, so making them anew costs more
    /// than many a search.
    pub(crate) scratches: Mutex<Vec<Scratch>>,
}

impl Index {
    /// Puts segments together; [`ToolPosition`] counts them in this order.
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
        let merged = MergedPostings::of(&segments, &bases, &global, vocabulary.terms.len());
        let name_words = name_words(&segments, &global);
        let word_at = |place: Place| {
            segments
                .get(place.segment as usize)
                .map(|s| s.name_words.get(place.local))
        };
        let near_words = FuzzyDict::new(
            (0..)
                .zip(&name_words)
                .filter_map(|(id, (place, _))| Some((id, word_at(*place)?))),
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
            near_words,
            servers,
            segments,
            scratches: Mutex::new(Vec::new()),
        }
    }

    /// How many tools it holds.
    pub fn len(&self) -> usize {
        self.segment_of.len()
    }

    /// Whether it holds no tool.
    pub fn is_empty(&self) -> bool {
        self.segment_of.is_empty()
    }

    /// Where the tool of a number stands.
    pub(crate) fn at(&self, tool: u32) -> ToolPosition {
        let segment = self.segment_of.get(tool as usize).copied().unwrap_or(0) as usize;
        let base = self.bases.get(segment).copied().unwrap_or(0);
        ToolPosition {
            segment,
            tool: tool.saturating_sub(base) as usize,
        }
    }

    /// The number of a tool.
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

    /// The word of a term in its indexed form.
    pub(crate) fn word_of(&self, term: u32) -> &str {
        word_of(&self.terms, &self.segments, term)
    }

    /// Where a tool has a term, as bits of fields.
    pub(crate) fn fields_of(&self, tool: u32, term: u32) -> u8 {
        let at = self.at(tool);
        let Some(segment) = self.segments.get(at.segment) else {
            return 0;
        };
        // Only explanations ask, so the word is looked for in the segment's own list.
        let word = self.word_of(term);
        let local = (0..segment.terms.len() as u32).find(|local| segment.terms.get(*local) == word);
        let postings = local.map_or(&[][..], |local| segment.postings_of(local));
        let own = postings
            .iter()
            .filter(|posting| posting.tool as usize == at.tool);
        own.fold(0, |bits, posting| bits | 1 << posting.field)
    }

    /// The tools that have a term, and its worth for each.
    pub(crate) fn tools_of(&self, term: u32) -> &[Worth] {
        self.merged.of_term(term)
    }

    /// How much the words of a tool's name say together.
    pub(crate) fn name_mass(&self, tool: usize) -> f32 {
        self.merged.name_masses.get(tool).copied().unwrap_or(0.0)
    }

    /// The server of this folded name.
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

    /// Letters of the server's name in front of one way to write a tool's name.
    pub(crate) fn server_letters(&self, name: u32) -> usize {
        if name.is_multiple_of(NAME_FORMS) {
            return 0;
        }
        let segment = self.segments.get(self.at(name / NAME_FORMS).segment);
        segment
            .and_then(|segment| segment.server.as_ref())
            .map_or(0, String::len)
    }

    /// The terms of name words that differ from a word by a typo or two, with how many.
    pub(crate) fn mistyped(&self, word: &str, most: u8, mut found: impl FnMut(u32, u8)) {
        let text = |id: u32| {
            let place = self.name_words.get(id as usize).map(|(place, _)| place);
            place
                .and_then(|place| Some((self.segments.get(place.segment as usize)?, place.local)))
                .map_or("", |(segment, local)| segment.name_words.get(local))
        };
        self.near_words.mistyped(word, most, text, |id, typos| {
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
