//! A dictionary that finds words exactly, by prefix, or despite one or two typos.

use crate::distance::typos;
use crate::weights::{NAMES_COMPARED, NAMES_PASSED};

/// Words sorted by their first letters and by their last letters. A word with a typo still shares one of both.
#[derive(Debug, Default)]
pub(crate) struct FuzzyDict {
    by_start: Vec<Entry>,
    by_end: Vec<Entry>,
}

/// An entry: the sort key, and the length and id of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: u64,
    length: u32,
    id: u32,
}

/// Number of letters in a key.
const KEY: usize = 8;

impl FuzzyDict {
    pub(crate) fn new<'a>(words: impl Iterator<Item = (u32, &'a str)>) -> Self {
        let (mut by_start, mut by_end) = (Vec::new(), Vec::new());
        for (id, word) in words {
            let length = word.len() as u32;
            let entry = |key| Entry { key, length, id };
            by_start.push(entry(key(word.bytes())));
            by_end.push(entry(key(word.bytes().rev())));
        }
        by_start.sort_unstable();
        by_end.sort_unstable();
        Self { by_start, by_end }
    }

    /// Finds the entries that equal `word`.
    pub(crate) fn find_exact<'a>(
        &self,
        word: &str,
        text: impl Fn(u32) -> &'a str,
        mut found: impl FnMut(u32),
    ) {
        let length = word.len() as u32;
        let first = key(word.bytes());
        let start = self
            .by_start
            .partition_point(|entry| (entry.key, entry.length) < (first, length));
        let rest = self.by_start.get(start..).unwrap_or_default();
        for entry in rest
            .iter()
            .take_while(|entry| (entry.key, entry.length) == (first, length))
        {
            if text(entry.id) == word {
                found(entry.id);
            }
        }
    }

    /// Finds the longer entries that start with `word`, with their length.
    pub(crate) fn find_prefix<'a>(
        &self,
        word: &str,
        text: impl Fn(u32) -> &'a str,
        mut found: impl FnMut(u32, usize),
    ) {
        for entry in with_prefix(&self.by_start, word.bytes(), KEY)
            .iter()
            .take(NAMES_PASSED)
        {
            let longer = entry.length as usize > word.len();
            // For a word that fits into the key, the key decides.
            if longer && (word.len() <= KEY || text(entry.id).starts_with(word)) {
                found(entry.id, entry.length as usize);
            }
        }
    }

    /// Finds the entries that differ from `word` by 1 to `max_typos` typos.
    pub(crate) fn find_typos<'a>(
        &self,
        word: &str,
        max_typos: u8,
        text: impl Fn(u32) -> &'a str,
        mut found: impl FnMut(u32, u8),
    ) {
        // One typo leaves the first or the last half unchanged, except for a swap in the middle; two typos leave a third.
        let kept = match max_typos {
            0 | 1 => (word.len() / 2).saturating_sub(1),
            _ => word.len() / 3,
        };
        let kept = kept.clamp(1, KEY);
        let mut compared = 0;
        let starts = with_prefix(&self.by_start, word.bytes(), kept);
        let ends = with_prefix(&self.by_end, word.bytes().rev(), kept);
        for entry in starts
            .iter()
            .take(NAMES_PASSED)
            .chain(ends.iter().take(NAMES_PASSED))
        {
            // Letters of other scripts may have several bytes.
            let slack = u32::from(max_typos) * if word.is_ascii() { 1 } else { 4 };
            if entry.length.abs_diff(word.len() as u32) > slack {
                continue;
            }
            compared += 1;
            if compared > NAMES_COMPARED {
                return;
            }
            if let Some(count @ 1..) = typos(word, text(entry.id), max_typos) {
                found(entry.id, count);
            }
        }
    }
}

/// The entries that share the first `max` letters.
fn with_prefix(table: &[Entry], letters: impl Iterator<Item = u8>, max: usize) -> &[Entry] {
    let letters: Vec<u8> = letters.take(max.min(KEY)).collect();
    let low = key(letters.iter().copied());
    let fixed = 8 * letters.len() as u32;
    let high = low | u64::MAX.checked_shr(fixed).unwrap_or(0);
    let start = table.partition_point(|entry| entry.key < low);
    let end = table.partition_point(|entry| entry.key <= high);
    table.get(start..end).unwrap_or_default()
}

fn key(letters: impl Iterator<Item = u8>) -> u64 {
    let mut key = [0; KEY];
    for (slot, letter) in key.iter_mut().zip(letters) {
        *slot = letter;
    }
    u64::from_be_bytes(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 5] = [
        "closeissue",
        "closeissues",
        "createissue",
        "close",
        "readfile",
    ];

    fn text(id: u32) -> &'static str {
        WORDS[id as usize]
    }

    fn table() -> FuzzyDict {
        FuzzyDict::new((0..).zip(WORDS))
    }

    #[test]
    fn whole_words_and_starts_are_found() {
        let mut same = Vec::new();
        table().find_exact("close", text, |id| same.push(text(id)));
        assert_eq!(same, ["close"]);
        let mut longer = Vec::new();
        table().find_prefix("closeissu", text, |id, _| longer.push(text(id)));
        longer.sort_unstable();
        assert_eq!(longer, ["closeissue", "closeissues"]);
    }

    #[test]
    fn every_single_typo_is_found() {
        for word in WORDS {
            for at in 0..word.len() {
                let mut missing = word.to_owned();
                missing.remove(at);
                let mut wrong = word.to_owned();
                wrong.replace_range(at..=at, "x");
                let mut extra = word.to_owned();
                extra.insert(at, 'x');
                let mut swapped: Vec<char> = word.chars().collect();
                swapped.swap(at, (at + 1).min(word.len() - 1));
                let swapped: String = swapped.into_iter().collect();
                for typed in [missing, wrong, extra, swapped] {
                    let mut found = typed == word;
                    table().find_typos(&typed, 1, text, |id, _| found |= text(id) == word);
                    assert!(found, "{word} typed as {typed}");
                }
            }
        }
    }
}
