//! Building of segments, with a cache of words between segments.

use crate::interner::{Interner, Key, WordList};
use crate::schema;
use crate::segment::{FIELDS, Posting, Segment};
use crate::stems::{is_stop_word, stem};
use crate::text::{Field, ServerText, ToolText};
use crate::tokens::{TokenKind, cut, each_word, fold, folded};
use crate::weights::{ALIASES, DESCRIPTION_BYTES, NAME_BYTES, REMEMBERED_WORDS, SCHEMA_TEXT_BYTES};

/// Marks a stop word.
const NO_STEM: u32 = u32::MAX;
/// Total length of two words that may be one word elsewhere, such as `log` and `in`.
const JOINED_LETTERS: std::ops::RangeInclusive<usize> = 4..=14;

/// Builds the segments of several servers. Servers share most of their words, and stemming a word costs more than
/// everything else, so stems are cached.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    /// The words as written, each with the id of its stem.
    raw: Interner,
    stems: Interner,
    current: PartialSegment,
}

/// A term and the field it was found in.
type FieldTerm = (u32, Field);

/// The segment that is being built.
#[derive(Debug, Default)]
struct PartialSegment {
    /// Number of this segment, so that the data per stem does not have to be cleared.
    number: u32,
    /// The segment in which each stem was last used, and its term there.
    term_of: Vec<(u32, u32)>,
    /// The segment in which each word as written last occurred in a name.
    in_name: Vec<u32>,
    terms: WordList,
    name_words: WordList,
    name_word_terms: Vec<u32>,
    names: WordList,
    exposed: WordList,
    /// The counts of one tool by term, and the affected terms.
    counts: Vec<[u8; FIELDS]>,
    touched: Vec<u32>,
    /// Terms and postings, in the order of the tools.
    gathered: Vec<(u32, Posting)>,
    lengths: Vec<[u16; FIELDS]>,
    joined: String,
}

impl SegmentBuilder {
    /// Indexes the tools of one server, or tools without a server.
    pub fn segment<'a>(
        &mut self,
        server: Option<ServerText<'a>>,
        tools: impl IntoIterator<Item = ToolText<'a>>,
    ) -> Segment {
        self.start();
        let (mut of_server, mut found) = (Vec::new(), Vec::new());
        if let Some(server) = server {
            self.read_name(Field::Server, server.name, &mut of_server);
            let text = server.description;
            self.read(
                Field::ServerDescription,
                text,
                DESCRIPTION_BYTES,
                &mut of_server,
            );
        }
        let folded_server = folded(server.map_or("", |server| server.name), NAME_BYTES);
        let mut name = String::new();
        for (number, tool) in (0..).zip(tools) {
            found.clear();
            self.read_tool(&tool, &mut found);
            self.current.count(number, &found, &of_server);

            name.clear();
            name.push_str(&folded_server);
            fold(tool.name, NAME_BYTES, &mut name);
            let own = name.get(folded_server.len()..).unwrap_or_default();
            self.current.names.push(own);
            self.current.names.push(&name);
            name.clear();
            fold(tool.exposed, NAME_BYTES, &mut name);
            self.current.names.push(&name);
            self.current.exposed.push(cut(tool.exposed, NAME_BYTES));
        }
        self.current.finish(server.map(|_| folded_server))
    }

    fn start(&mut self) {
        if self.raw.len() > REMEMBERED_WORDS {
            *self = Self::default();
        }
        self.current.number += 1;
    }

    fn read_tool(&mut self, tool: &ToolText<'_>, found: &mut Vec<FieldTerm>) {
        self.read_name(Field::Name, tool.name, found);
        for alias in tool.aliases.iter().take(ALIASES) {
            self.read_name(Field::Name, alias, found);
        }
        self.read(
            Field::Description,
            &tool.description,
            DESCRIPTION_BYTES,
            found,
        );
        schema::each_text(tool.input_schema, |field, text| {
            self.read(field, text, SCHEMA_TEXT_BYTES, found);
        });
    }

    /// The term of a word unless it is a stop word, and the id of the word.
    fn term(&mut self, word: &str) -> (Option<u32>, u32) {
        let stems = &mut self.stems;
        let entry = self.raw.intern(word, || {
            if is_stop_word(word) {
                NO_STEM
            } else {
                stems.intern(&stem(word), || 0).id
            }
        });
        let counts = entry.with != NO_STEM;
        let term = counts.then(|| self.current.term(entry.with, &self.stems));
        (term, entry.id)
    }

    fn read(&mut self, field: Field, text: &str, max_bytes: usize, found: &mut Vec<FieldTerm>) {
        each_word(text, max_bytes, |word, _| {
            let (term, _) = self.term(word);
            found.extend(term.map(|term| (term, field)));
        });
    }

    /// Indexes a name. Adjacent words are also indexed as one: `log_in` is found by `login`.
    fn read_name(&mut self, field: Field, name: &str, found: &mut Vec<FieldTerm>) {
        let mut joined = std::mem::take(&mut self.current.joined);
        joined.clear();
        each_word(name, NAME_BYTES, |word, kind| {
            if kind == TokenKind::Joined {
                return;
            }
            let (term, raw) = self.term(word);
            if let Some(term) = term {
                found.push((term, field));
                self.current.name_word(word, self.raw.key(raw), raw, term);
            }
            if kind == TokenKind::Bigram {
                return;
            }
            let second = !joined.is_empty();
            joined.push_str(word);
            if second && JOINED_LETTERS.contains(&joined.len()) {
                let (term, _) = self.term(&joined);
                found.extend(term.map(|term| (term, field)));
            }
            joined.drain(..joined.len() - word.len());
        });
        self.current.joined = joined;
    }
}

impl PartialSegment {
    fn term(&mut self, stem: u32, stems: &Interner) -> u32 {
        let at = stem as usize;
        if self.term_of.len() <= at {
            self.term_of.resize(at + 1, (0, 0));
        }
        match self.term_of.get_mut(at) {
            Some((segment, term)) if *segment == self.number => *term,
            Some(slot) => {
                let term = self.terms.push_keyed(stems.get(stem), stems.key(stem));
                self.counts.push([0; FIELDS]);
                *slot = (self.number, term);
                term
            }
            None => 0,
        }
    }

    fn name_word(&mut self, word: &str, key: Key, raw: u32, term: u32) {
        let at = raw as usize;
        if self.in_name.len() <= at {
            self.in_name.resize(at + 1, 0);
        }
        if let Some(seen) = self
            .in_name
            .get_mut(at)
            .filter(|seen| **seen != self.number)
        {
            *seen = self.number;
            self.name_words.push_keyed(word, key);
            self.name_word_terms.push(term);
        }
    }

    fn count(&mut self, tool: u32, found: &[FieldTerm], of_server: &[FieldTerm]) {
        let mut lengths = [0_u16; FIELDS];
        for (term, field) in found.iter().chain(of_server) {
            let at = *field as usize;
            if let Some(length) = lengths.get_mut(at) {
                *length = length.saturating_add(1);
            }
            let Some(counts) = self.counts.get_mut(*term as usize) else {
                continue;
            };
            if *counts == [0; FIELDS] {
                self.touched.push(*term);
            }
            if let Some(count) = counts.get_mut(at) {
                *count = count.saturating_add(1);
            }
        }
        self.lengths.push(lengths);
        for term in self.touched.drain(..) {
            let counts = self.counts.get_mut(term as usize).map(std::mem::take);
            for (field, count) in (0..).zip(counts.unwrap_or_default()) {
                if count > 0 {
                    self.gathered.push((term, Posting { tool, field, count }));
                }
            }
        }
    }

    /// Returns the segment and resets everything except what the next one reuses.
    fn finish(&mut self, server: Option<String>) -> Segment {
        let (ends, postings) = by_term(&self.gathered, self.terms.len());
        let segment = Segment {
            terms: self.terms.take(),
            ends,
            postings,
            lengths: self.lengths.as_slice().into(),
            name_words: self.name_words.take(),
            name_word_terms: self.name_word_terms.as_slice().into(),
            names: self.names.take(),
            exposed: self.exposed.take(),
            server,
        };
        self.gathered.clear();
        self.counts.clear();
        self.lengths.clear();
        self.name_word_terms.clear();
        segment
    }
}

/// Groups the postings by term; within a term they stay in the order of the tools.
fn by_term(gathered: &[(u32, Posting)], terms: usize) -> (Vec<u32>, Vec<Posting>) {
    let mut ends = vec![0_u32; terms];
    for (term, _) in gathered {
        if let Some(count) = ends.get_mut(*term as usize) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        // The start of each term for now; filling moves it to the end.
        let count = *end;
        *end = sum;
        sum += count;
    }
    let nothing = Posting {
        tool: 0,
        field: 0,
        count: 0,
    };
    let mut postings = vec![nothing; gathered.len()];
    for (term, posting) in gathered {
        if let Some(end) = ends.get_mut(*term as usize) {
            if let Some(slot) = postings.get_mut(*end as usize) {
                *slot = *posting;
            }
            *end += 1;
        }
    }
    (ends, postings)
}
