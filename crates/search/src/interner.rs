//! Words as numbers: each distinct word is kept once, in one piece of memory.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// One hasher for the whole process, so that a word's hash can be kept and used again by every index. Its seed
/// is random, because servers choose the words.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::default);

pub(crate) fn hash_of(word: &str) -> u64 {
    HASHER.hash_one(word)
}

/// Distinct words in the order they came.
#[derive(Debug, Default)]
pub(crate) struct Words {
    letters: String,
    ends: Vec<u32>,
    hashes: Vec<u64>,
}

impl Words {
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

    pub(crate) fn hash(&self, id: u32) -> u64 {
        self.hashes.get(id as usize).copied().unwrap_or_default()
    }

    pub(crate) fn push(&mut self, word: &str, hash: u64) -> u32 {
        let id = self.ends.len() as u32;
        self.letters.push_str(word);
        self.ends.push(self.letters.len() as u32);
        self.hashes.push(hash);
        id
    }

    pub(crate) fn shrink(&mut self) {
        self.letters.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.hashes.shrink_to_fit();
    }
}

/// Words with a way to find them.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    words: Words,
    table: HashTable<u32>,
}

impl Interner {
    /// The number of a word, and whether it is new.
    pub(crate) fn intern(&mut self, word: &str) -> (u32, bool) {
        let hash = hash_of(word);
        if let Some(id) = self.table.find(hash, |id| self.words.get(*id) == word) {
            return (*id, false);
        }
        let id = self.words.push(word, hash);
        self.table
            .insert_unique(hash, id, |id| self.words.hash(*id));
        (id, true)
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn get(&self, id: u32) -> &str {
        self.words.get(id)
    }

    pub(crate) fn hash(&self, id: u32) -> u64 {
        self.words.hash(id)
    }
}
