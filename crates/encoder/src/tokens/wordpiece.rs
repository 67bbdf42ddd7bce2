//! WordPiece: a word is split into the longest entry that starts it, then the longest that continues it.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::normalise::{is_punctuation, letters};
use crate::shape::{FIRST, LAST, UNKNOWN};

/// The prefix of an entry that continues a word.
const CONTINUES: &str = "##";

/// A longer word is not looked up; it becomes one unknown token.
const MAX_LETTERS: usize = 100;

/// Initial capacity for the entries.
const USUAL_ENTRIES: usize = 30_522;

/// Replaces a text without words.
const BLANK: &str = ".";

/// Index of the entries by their text. It stores only where each entry starts in the vocabulary text, because it stays
/// in memory as long as the encoder.
pub(crate) struct Vocabulary {
    text: &'static str,
    starts: Vec<u32>,
    ids: HashTable<u16>,
    hasher: DefaultHashBuilder,
    longest: usize,
}

/// The text of an entry without its prefix, and whether it continues a word.
type Key<'a> = (&'a str, bool);

impl Vocabulary {
    /// Parses a vocabulary with one entry per line; the line number is the id. Lines beyond the range of ids are
    /// ignored.
    pub(crate) fn read(text: &'static str) -> Self {
        let hasher = DefaultHashBuilder::default();
        let mut starts = Vec::with_capacity(USUAL_ENTRIES);
        let mut ids = HashTable::with_capacity(USUAL_ENTRIES);
        let mut longest = 0;
        let mut start = 0;
        for (id, line) in (0..u16::MAX).zip(text.split_inclusive('\n')) {
            starts.push(start);
            start += u32::try_from(line.len()).unwrap_or_default();
            let key = key(line);
            longest = longest.max(key.0.len());
            let hash_again = |id: &u16| hasher.hash_one(key_at(text, &starts, *id));
            ids.insert_unique(hasher.hash_one(key), id, hash_again);
        }
        Self {
            text,
            starts,
            ids,
            hasher,
            longest,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Tokenizes a text to at most `max` ids, including the first and the last one.
    pub(crate) fn token_ids(&self, text: &str, max: usize) -> Vec<u16> {
        let mut ids = vec![FIRST];
        self.add_text(text, max, &mut ids);
        if ids.len() == 1 {
            self.add_text(BLANK, max, &mut ids);
        }
        ids.truncate(max.saturating_sub(1));
        ids.push(LAST);
        ids
    }

    fn add_text(&self, text: &str, max: usize, ids: &mut Vec<u16>) {
        let mut word = String::new();
        for letter in letters(text) {
            if ids.len() >= max {
                return;
            }
            if letter == ' ' {
                self.add_word(&mut word, ids);
            } else if is_punctuation(letter) {
                self.add_word(&mut word, ids);
                word.push(letter);
                self.add_word(&mut word, ids);
            } else {
                word.push(letter);
            }
        }
        self.add_word(&mut word, ids);
    }

    /// Adds the tokens of a word and clears it. A word with an unknown part becomes one unknown token.
    fn add_word(&self, word: &mut String, ids: &mut Vec<u16>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        let mut rest = if word.chars().nth(MAX_LETTERS).is_none() {
            word.as_str()
        } else {
            ids.push(UNKNOWN);
            ""
        };
        while !rest.is_empty() {
            let Some((id, length)) = self.longest_entry(rest, ids.len() > before) else {
                ids.truncate(before);
                ids.push(UNKNOWN);
                break;
            };
            ids.push(id);
            rest = rest.get(length..).unwrap_or_default();
        }
        word.clear();
    }

    /// The longest entry that is a prefix of `rest`, and its length.
    fn longest_entry(&self, rest: &str, continues: bool) -> Option<(u16, usize)> {
        let lengths = (1..=rest.len().min(self.longest)).rev();
        let starts = lengths.filter_map(|length| rest.get(..length));
        starts
            .filter_map(|start| Some((self.id((start, continues))?, start.len())))
            .next()
    }

    fn id(&self, wanted: Key<'_>) -> Option<u16> {
        let is_wanted = |id: &u16| key_at(self.text, &self.starts, *id) == wanted;
        let hash = self.hasher.hash_one(wanted);
        self.ids.find(hash, is_wanted).copied()
    }
}

fn key_at<'a>(text: &'a str, starts: &[u32], id: u16) -> Key<'a> {
    let start = starts
        .get(usize::from(id))
        .map_or(text.len(), |start| *start as usize);
    let rest = text.get(start..).unwrap_or_default();
    key(rest.lines().next().unwrap_or_default())
}

fn key(line: &str) -> Key<'_> {
    let entry = line.trim_end();
    match entry.strip_prefix(CONTINUES) {
        Some(rest) if !rest.is_empty() => (rest, true),
        _ => (entry, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, max: usize, expected: &[&str]) {
        let vocabulary = Vocabulary::read(pegboard_encoder_data::VOCABULARY);
        let ids = vocabulary.token_ids(text, max);
        let lines: Vec<&str> = vocabulary.text.lines().collect();
        let entries: Vec<&str> = ids.iter().map(|id| lines[usize::from(*id)]).collect();
        assert_eq!(entries, expected, "{text:?}");
    }

    #[test]
    fn r_find_02_words_are_split_into_the_longest_entries() {
        check("Hello", 96, &["[CLS]", "hello", "[SEP]"]);
        check(
            "unaffable",
            96,
            &["[CLS]", "una", "##ffa", "##ble", "[SEP]"],
        );
        check(
            "get_file(x)",
            96,
            &["[CLS]", "get", "_", "file", "(", "x", ")", "[SEP]"],
        );
    }

    #[test]
    fn r_find_02_blank_texts_become_a_full_stop() {
        for text in ["", "   ", "\n\t", "\u{0}\u{200b}", "\u{301}"] {
            check(text, 96, &["[CLS]", ".", "[SEP]"]);
        }
    }

    #[test]
    fn r_find_02_words_outside_the_vocabulary_are_unknown() {
        check("🚀", 96, &["[CLS]", "[UNK]", "[SEP]"]);
        check("a🚀b c", 96, &["[CLS]", "[UNK]", "c", "[SEP]"]);
        check(&"x".repeat(101), 96, &["[CLS]", "[UNK]", "[SEP]"]);
        check("##", 96, &["[CLS]", "#", "#", "[SEP]"]);
        check("[SEP]", 96, &["[CLS]", "[", "sep", "]", "[SEP]"]);
    }

    #[test]
    fn r_find_02_long_texts_are_truncated_and_closed() {
        check("one two three four", 4, &["[CLS]", "one", "two", "[SEP]"]);
        check("one two", 4, &["[CLS]", "one", "two", "[SEP]"]);
        let vocabulary = Vocabulary::read(pegboard_encoder_data::VOCABULARY);
        for text in ["word ", " ", "x", "取", "\u{301}", "."] {
            let ids = vocabulary.token_ids(&text.repeat(1_000_000), 96);
            assert!((3..=96).contains(&ids.len()), "{text:?}");
            assert_eq!(ids.last(), Some(&LAST));
        }
    }
}
