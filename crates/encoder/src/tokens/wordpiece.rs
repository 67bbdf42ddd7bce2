//! Words to vocabulary entries: the longest entry that begins the word, then the longest that
//! continues it.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::normalise::{is_punctuation, letters};
use crate::shape::{FIRST, LAST, UNKNOWN};

/// The mark of an entry that continues a word.
const CONTINUES: &str = "##";

/// A longer word is not looked up; it is one unknown entry.
const MOST_LETTERS: usize = 100;

/// The room made for entries before they are counted.
const USUAL_ENTRIES: usize = 30_522;

/// What a text without any word is read as.
const BLANK: &str = ".";

/// The entries by their text. It keeps where each begins and points into the vocabulary's text for
/// the rest, because it stays in memory as long as the encoder.
pub(crate) struct Vocabulary {
    text: &'static str,
    starts: Vec<u32>,
    ids: HashTable<u16>,
    hasher: DefaultHashBuilder,
    longest: usize,
}

/// An entry's text without its mark, and whether it continues a word.
type Key<'a> = (&'a str, bool);

impl Vocabulary {
    /// One entry a line; the line's number is the id. Lines past the range of ids are left out.
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

    /// The ids of a text between the first and the last mark, `most` at the most.
    pub(crate) fn token_ids(&self, text: &str, most: usize) -> Vec<u16> {
        let mut ids = vec![FIRST];
        self.add_text(text, most, &mut ids);
        if ids.len() == 1 {
            self.add_text(BLANK, most, &mut ids);
        }
        ids.truncate(most.saturating_sub(1));
        ids.push(LAST);
        ids
    }

    fn add_text(&self, text: &str, most: usize, ids: &mut Vec<u16>) {
        let mut word = String::new();
        for letter in letters(text) {
            if ids.len() >= most {
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

    /// Adds the entries of the word, or the unknown one if a part of it has none, and empties it.
    fn add_word(&self, word: &mut String, ids: &mut Vec<u16>) {
        if word.is_empty() {
            return;
        }
        let before = ids.len();
        let mut rest = if word.chars().nth(MOST_LETTERS).is_none() {
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

    /// The longest entry that `rest` starts with, and its length.
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

    fn check(text: &str, most: usize, expected: &[&str]) {
        let vocabulary = Vocabulary::read(pegboard_encoder_data::VOCABULARY);
        let ids = vocabulary.token_ids(text, most);
        let lines: Vec<&str> = vocabulary.text.lines().collect();
        let entries: Vec<&str> = ids.iter().map(|id| lines[usize::from(*id)]).collect();
        assert_eq!(entries, expected, "{text:?}");
    }

    #[test]
    fn r_find_02_words_are_cut_into_the_longest_entries() {
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
    fn r_find_02_blank_texts_are_a_full_stop() {
        for text in ["", "   ", "\n\t", "\u{0}\u{200b}", "\u{301}"] {
            check(text, 96, &["[CLS]", ".", "[SEP]"]);
        }
    }

    #[test]
    fn r_find_02_what_the_vocabulary_lacks_is_unknown() {
        check("🚀", 96, &["[CLS]", "[UNK]", "[SEP]"]);
        check("a🚀b c", 96, &["[CLS]", "[UNK]", "c", "[SEP]"]);
        check(&"x".repeat(101), 96, &["[CLS]", "[UNK]", "[SEP]"]);
        check("##", 96, &["[CLS]", "#", "#", "[SEP]"]);
        check("[SEP]", 96, &["[CLS]", "[", "sep", "]", "[SEP]"]);
    }

    #[test]
    fn r_find_02_long_texts_are_cut_and_closed() {
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
