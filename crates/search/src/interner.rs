//! Interning: each distinct word gets a number and is stored once in contiguous memory.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// One hasher for the whole process, so that the hash of a long word can be reused by every index. Its seed is random,
/// because servers choose the words.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The comparison key of a word. Nearly all words fit into it entirely, so that a lookup needs a single table access.
/// For a long word it contains a hash, and the text decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    low: u64,
    high: u64,
}

/// Marks the key of a long word; no byte of UTF-8 text has this value.
const LONG: u64 = 0xff << 56;

impl Key {
    pub(crate) fn of(word: &str) -> Self {
        let letters = word.as_bytes();
        let length = letters.len();
        // The last letters are read from the end, and the overlap is shifted out.
        let missing = |room: usize| 8 * room.saturating_sub(length) as u32;
        if let (Some(first), Some(last), ..=16) =
            (letters.first_chunk(), letters.last_chunk(), length)
        {
            let last = u64::from_le_bytes(*last).checked_shr(missing(16));
            return Self {
                low: u64::from_le_bytes(*first),
                high: last.unwrap_or(0),
            };
        }
        if let (Some(first), Some(last), ..=8) =
            (letters.first_chunk(), letters.last_chunk(), length)
        {
            let last = u32::from_le_bytes(*last).checked_shr(missing(8));
            let low = u64::from(u32::from_le_bytes(*first)) | u64::from(last.unwrap_or(0)) << 32;
            return Self { low, high: 0 };
        }
        if length > 16 {
            let low = HASHER.hash_one(word);
            return Self { low, high: LONG };
        }
        let low = letters
            .iter()
            .rev()
            .fold(0, |low, byte| low << 8 | u64::from(*byte));
        Self { low, high: 0 }
    }

    /// Whether the key contains the whole word.
    pub(crate) fn is_whole(self) -> bool {
        self.high != LONG
    }

    /// The hash of the key.
    pub(crate) fn hash(self) -> u64 {
        HASHER.hash_one((self.low, self.high))
    }
}

/// Words in contiguous memory, in insertion order.
#[derive(Debug, Default)]
pub(crate) struct WordList {
    letters: String,
    ends: Vec<u32>,
    /// The keys, if words are looked up by key.
    keys: Vec<Key>,
}

impl WordList {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, id: u32) -> &str {
        let at = id as usize;
        let start = at
            .checked_sub(1)
            .and_then(|before| self.ends.get(before))
            .map_or(0, |end| *end as usize);
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        self.letters.get(start..end).unwrap_or_default()
    }

    pub(crate) fn key(&self, id: u32) -> Key {
        self.keys.get(id as usize).copied().unwrap_or_default()
    }

    /// Adds a word that is looked up by its key.
    pub(crate) fn push_keyed(&mut self, word: &str, key: Key) -> u32 {
        self.keys.push(key);
        self.push(word)
    }

    /// Adds a text that is looked up by its number only.
    pub(crate) fn push(&mut self, text: &str) -> u32 {
        let id = self.ends.len() as u32;
        self.letters.push_str(text);
        self.ends.push(self.letters.len() as u32);
        id
    }

    /// Moves the words to exactly sized memory and keeps the capacity for the next ones.
    pub(crate) fn take(&mut self) -> Self {
        let taken = Self {
            letters: self.letters.as_str().into(),
            ends: self.ends.as_slice().into(),
            keys: self.keys.as_slice().into(),
        };
        self.letters.clear();
        self.ends.clear();
        self.keys.clear();
        taken
    }
}

/// A word list with lookup by word.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    words: WordList,
    table: HashTable<Entry>,
}

/// An interned word. Its data is stored next to its key, because a second memory access would cost more than the rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    key: Key,
    /// The id of the word.
    pub(crate) id: u32,
    /// The value given when the word was added.
    pub(crate) with: u32,
}

impl Interner {
    /// Returns the entry of a word. `with` provides the value of a new word.
    pub(crate) fn intern(&mut self, word: &str, with: impl FnOnce() -> u32) -> Entry {
        let key = Key::of(word);
        let hash = key.hash();
        let same = |entry: &Entry| {
            entry.key == key && (key.is_whole() || self.words.get(entry.id) == word)
        };
        if let Some(entry) = self.table.find(hash, same) {
            return *entry;
        }
        let entry = Entry {
            key,
            id: self.words.push_keyed(word, key),
            with: with(),
        };
        self.table
            .insert_unique(hash, entry, |entry| entry.key.hash());
        entry
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn get(&self, id: u32) -> &str {
        self.words.get(id)
    }

    pub(crate) fn key(&self, id: u32) -> Key {
        self.words.key(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_a_key_of_its_own() {
        let mut keys = std::collections::HashSet::new();
        for length in 0..40 {
            for letters in [
                "abcdefghijklmnopqrstuvwxyz0123456789ABCD",
                &"a".repeat(40),
                &"é".repeat(20),
            ] {
                let Some(word) = letters.get(..length) else {
                    continue;
                };
                if length < 2 && letters.starts_with("aa") {
                    continue;
                }
                let key = Key::of(word);
                assert_eq!(key.is_whole(), length <= 16, "{word}");
                assert!(length == 0 || keys.insert(key), "{word}");
            }
        }
    }

    #[test]
    fn a_word_keeps_its_number() {
        let mut interner = Interner::default();
        let words = [
            "a",
            "get",
            "file",
            "repository",
            "a word of more than sixteen letters",
        ];
        for round in [7, 8] {
            for (number, word) in (0..).zip(words) {
                let entry = interner.intern(word, || round);
                assert_eq!((entry.id, entry.with), (number, 7), "{word}");
                assert_eq!(interner.get(number), word);
            }
        }
    }
}
