//! Stemming and stop words.

use std::borrow::Cow;

use snowball_stemmers_rs::{Algorithm, Stemmer};

/// Stop words. Verbs such as `get` and `list` are not included, because they distinguish tools.
const STOP_WORDS: &[&str] = &[
    "a", "able", "about", "also", "am", "an", "and", "another", "any", "are", "as", "at", "be",
    "been", "being", "between", "but", "by", "can", "could", "d", "did", "do", "does", "doing",
    "done", "each", "else", "etc", "every", "for", "from", "had", "has", "have", "having", "he",
    "hello", "help", "her", "here", "hey", "hi", "him", "his", "hope", "how", "i", "if", "im",
    "in", "into", "is", "it", "its", "ive", "just", "kindly", "let", "lets", "like", "ll", "m",
    "may", "me", "might", "mine", "more", "most", "must", "my", "need", "needed", "needs", "no",
    "not", "of", "on", "only", "onto", "or", "other", "our", "over", "please", "re", "really", "s",
    "same", "shall", "she", "should", "so", "some", "such", "t", "than", "thank", "thanks", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "to",
    "too", "under", "us", "use", "used", "using", "ve", "very", "via", "want", "wanted", "wants",
    "was", "we", "were", "what", "when", "which", "who", "whom", "whose", "why", "will", "wish",
    "with", "within", "without", "would", "you", "your",
];

/// Minimum length of a word that is stemmed.
const SHORTEST_STEMMED: usize = 3;

pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// The stem of an English word. Words in other scripts and codes are unchanged.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    let plain =
        word.len() >= SHORTEST_STEMMED && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !plain {
        return Cow::Borrowed(word);
    }
    Stemmer::create(Algorithm::English).stem(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_words_are_sorted_for_the_search() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("the"));
        for verb in ["get", "list", "create", "open", "show"] {
            assert!(!is_stop_word(verb), "{verb}");
        }
    }

    #[test]
    fn forms_of_a_word_have_the_same_stem() {
        for (one, other) in [
            ("issue", "issues"),
            ("create", "creating"),
            ("repository", "repositories"),
            ("search", "searches"),
        ] {
            assert_eq!(stem(one), stem(other));
        }
        assert_eq!(stem("s3"), "s3");
        assert_eq!(stem("größe"), "größe");
    }
}
