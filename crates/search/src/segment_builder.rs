//! Reads tools into segments, and remembers the words it met from one segment to the next.

use crate::interner::{Interner, Key, Words};
use crate::schema;
use crate::segment::{FIELDS, Posting, Segment};
use crate::stems::{is_stop_word, stem};
use crate::text::{Field, ServerText, ToolText};
use crate::tokens::{Part, cut, each_word, fold, folded};
use crate::weights::{ALIASES, DESCRIPTION_BYTES, NAME_BYTES, REMEMBERED_WORDS, SCHEMA_TEXT_BYTES};

/// Stands for the stem of a word that does not count.
const NO_STEM: u32 = u32::MAX;
/// Letters of two words that may be one word elsewhere, such as `log` and `in`.
const JOINED_LETTERS: std::ops::RangeInclusive<usize> = 4..=14;

/// Reads servers one after the other. Servers share most of their words, and finding the stem of a word costs
/// more than all else that is done with it.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    /// The words as written, each with the number of its stem.
    raw: Interner,
    stems: Interner,
    part: PartialSegment,
}

/// A word that was read: its term, and where.
type Read = (u32, Field);

/// The segment that is being read.
#[derive(Debug, Default)]
struct PartialSegment {
    /// Which segment this is, so that what is kept by stem need not be cleared.
    number: u32,
    /// The term of each stem, where its first number is that of this segment.
    term_of: Vec<(u32, u32)>,
    /// For which segment each word as written was last met in a name.
    in_name: Vec<u32>,
    terms: Words,
    name_words: Words,
    name_word_terms: Vec<u32>,
    names: Words,
    exposed: Words,
    /// One tool's counts by term, with what was touched.
    counts: Vec<[u8; FIELDS]>,
    touched: Vec<u32>,
    /// Terms and postings in the order of the tools.
    gathered: Vec<(u32, Posting)>,
    lengths: Vec<[u16; FIELDS]>,
    joined: String,
}

impl SegmentBuilder {
    /// Reads the tools of one server, or tools of no server.
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
            self.part.count(number, &found, &of_server);

            name.clear();
            name.push_str(&folded_server);
            fold(tool.name, NAME_BYTES, &mut name);
            let own = name.get(folded_server.len()..).unwrap_or_default();
            self.part.names.push(own);
            self.part.names.push(&name);
            name.clear();
            fold(tool.exposed, NAME_BYTES, &mut name);
            self.part.names.push(&name);
            self.part.exposed.push(cut(tool.exposed, NAME_BYTES));
        }
        self.part.finish(server.map(|_| folded_server))
    }

    fn start(&mut self) {
        if self.raw.len() > REMEMBERED_WORDS {
            *self = Self::default();
        }
        self.part.number += 1;
    }

    fn read_tool(&mut self, tool: &ToolText<'_>, found: &mut Vec<Read>) {
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

    /// The term of a word, when it counts, and the number of the word.
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
        let term = counts.then(|| self.part.term(entry.with, &self.stems));
        (term, entry.id)
    }

    fn read(&mut self, field: Field, text: &str, most: usize, found: &mut Vec<Read>) {
        each_word(text, most, |word, _| {
            let (term, _) = self.term(word);
            found.extend(term.map(|term| (term, field)));
        });
    }

    /// A name, whose neighbouring words also count as one: `log_in` is found by `login`.
    fn read_name(&mut self, field: Field, name: &str, found: &mut Vec<Read>) {
        let mut joined = std::mem::take(&mut self.part.joined);
        joined.clear();
        each_word(name, NAME_BYTES, |word, part| {
            if part == Part::Joined {
                return;
            }
            let (term, raw) = self.term(word);
            if let Some(term) = term {
                found.push((term, field));
                self.part.name_word(word, self.raw.key(raw), raw, term);
            }
            if part == Part::Pair {
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
        self.part.joined = joined;
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

    fn count(&mut self, tool: u32, found: &[Read], of_server: &[Read]) {
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

    /// The segment, leaving only what the next one uses again.
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

/// The postings put together by term; each term's stay in the order of the tools.
fn by_term(gathered: &[(u32, Posting)], terms: usize) -> (Vec<u32>, Vec<Posting>) {
    let mut ends = vec![0_u32; terms];
    for (term, _) in gathered {
        if let Some(count) = ends.get_mut(*term as usize) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        // For now where each term starts; filling moves it to where it ends.
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
