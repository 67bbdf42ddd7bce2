//! Synonyms from a built-in table.

use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::stems::stem;

/// One group per line; words joined by `_` are a phrase of several words.
const TABLE: &str = include_str!("synonyms.txt");

static SYNONYMS: LazyLock<Synonyms> = LazyLock::new(|| Synonyms::of(TABLE));

#[derive(Default)]
struct Synonyms {
    of_word: HashMap<String, Vec<String>, RandomState>,
    /// Phrases by their first word.
    of_phrase: HashMap<&'static str, Vec<Phrase>, RandomState>,
}

struct Phrase {
    rest: Vec<&'static str>,
    means: Vec<String>,
}

impl Synonyms {
    fn of(table: &'static str) -> Self {
        let mut all = Self::default();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (phrases, words): (Vec<&str>, Vec<&str>) =
                line.split_whitespace().partition(|word| word.contains('_'));
            let stems: Vec<String> = words.iter().map(|word| stem(word).into_owned()).collect();
            for one in &stems {
                let meant = all.of_word.entry(one.clone()).or_default();
                for other in &stems {
                    if other != one && !meant.contains(other) {
                        meant.push(other.clone());
                    }
                }
            }
            for phrase in phrases {
                let mut parts = phrase.split('_');
                let Some(first) = parts.next() else { continue };
                all.of_phrase.entry(first).or_default().push(Phrase {
                    rest: parts.collect(),
                    means: stems.clone(),
                });
            }
        }
        all
    }
}

/// The synonyms of a stem.
pub(crate) fn of_stem(stem: &str) -> &'static [String] {
    SYNONYMS.of_word.get(stem).map_or(&[], Vec::as_slice)
}

/// Calls back with the synonyms of the phrases that start at the first word.
pub(crate) fn of_phrase(words: &[&str], mut found: impl FnMut(&'static str)) {
    let Some((first, rest)) = words.split_first() else {
        return;
    };
    for phrase in SYNONYMS.of_phrase.get(*first).into_iter().flatten() {
        if rest.starts_with(&phrase.rest) {
            phrase.means.iter().for_each(|stem| found(stem));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_synonyms_of_their_group() {
        let of_delete = of_stem(&stem("delete"));
        assert!(of_delete.contains(&stem("remove").into_owned()));
        assert!(of_stem("xyzzy").is_empty());
        let mut found = Vec::new();
        of_phrase(&["get", "rid", "of", "it"], |stem| found.push(stem));
        assert!(found.contains(&&*stem("delete")));
    }

    #[test]
    fn the_table_is_well_formed() {
        let groups = TABLE.lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for group in groups {
            count += 1;
            assert!(group.split_whitespace().count() >= 2, "{group}");
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == ' ';
            assert!(group.chars().all(plain), "{group}");
        }
        assert!(count >= 70, "{count}");
    }
}
