//! Parsing of a query into terms of the index.

use std::borrow::Cow;

use crate::explain::MatchKind;
use crate::idf::idf;
use crate::index::Index;
use crate::literal_values::without_values;
use crate::stems::{is_stop_word, stem};
use crate::synonyms;
use crate::tokens::{TokenKind, cut, each_word, folded};
use crate::weights::{
    JOINED, JUDGED_WORDS, NAME_BYTES, QUERY_BYTES, QUERY_WORDS, SHORTEST_TWO_TYPOS, SHORTEST_TYPO,
    SYNONYM, SYNONYM_COVERAGE, TYPO_WORDS, WORD_TYPO,
};

/// Total length of two words that may be one word in the index.
const JOINED_LETTERS: std::ops::RangeInclusive<usize> = 4..=14;

/// A parsed query.
pub(crate) struct ParsedQuery {
    /// The whole query, folded like a tool name.
    pub(crate) folded: String,
    /// Whether the query contains no white space, like a name.
    pub(crate) is_single_token: bool,
    /// Whether a word occurs in no tool.
    pub(crate) has_unknown_word: bool,
    /// The words as written.
    pub(crate) words: Vec<String>,
    /// The sum of the IDFs of the rarest words.
    pub(crate) idf_sum: f32,
    /// The terms to look up, grouped by word.
    pub(crate) terms: Vec<QueryTerm>,
}

/// A term to look up.
pub(crate) struct QueryTerm {
    pub(crate) term: u32,
    /// Multiplied with the term frequency in a tool.
    pub(crate) factor: f32,
    /// Contribution to the coverage of a name that contains the term.
    pub(crate) coverage: f32,
    pub(crate) via: MatchKind,
    /// The position of the query word. Of all terms of one word only the best one counts for a tool; joined words count
    /// in addition.
    pub(crate) word: usize,
}

impl QueryTerm {
    /// Whether both terms are alternatives for the same word.
    pub(crate) fn is_alternative_to(&self, other: &Self) -> bool {
        self.word == other.word && self.via != MatchKind::Joined && other.via != MatchKind::Joined
    }
}

impl ParsedQuery {
    pub(crate) fn new(text: &str, index: &Index) -> Self {
        let text = cut(text.trim(), QUERY_BYTES);
        let mut parsed = Self {
            folded: if text.len() <= NAME_BYTES {
                folded(text, NAME_BYTES)
            } else {
                String::new()
            },
            is_single_token: !text.contains(char::is_whitespace),
            has_unknown_word: false,
            words: Vec::new(),
            idf_sum: 0.0,
            terms: Vec::new(),
        };
        let words = &mut parsed.words;
        let kinds = tokenize(&without_values(text), words);
        let kinds = if words.iter().all(|word| is_stop_word(word)) {
            words.clear();
            tokenize(text, words)
        } else {
            kinds
        };
        parsed.add_terms(index, &kinds);
        parsed
    }

    fn add_terms(&mut self, index: &Index, kinds: &[TokenKind]) {
        let words = std::mem::take(&mut self.words);
        let mut stems: Vec<(usize, Cow<'_, str>, Option<u32>)> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let stem = stem(word);
            if !is_stop_word(word) && stems.iter().all(|(_, before, _)| *before != stem) {
                let term = index.term(&stem);
                stems.push((at, stem, term));
            }
        }
        let idf_of = |term: Option<u32>| {
            let count = term.map_or(0, |term| index.tools_of(term).len());
            idf(count, index.len())
        };
        let mut idfs: Vec<f32> = stems.iter().map(|(.., term)| idf_of(*term)).collect();
        idfs.sort_by(|one, other| other.total_cmp(one));
        self.idf_sum = idfs.iter().take(JUDGED_WORDS).sum();

        for (at, _, term) in &stems {
            if let Some(term) = term {
                let idf = idf_of(Some(*term));
                self.add_term(*term, idf, idf, MatchKind::Same, *at);
            }
        }
        self.add_joined(index, &words, kinds);
        for (at, stem, own) in &stems {
            for other in synonyms::of_stem(stem) {
                self.add_synonym(index, other, *own, *at);
            }
            if own.is_none() {
                self.has_unknown_word |= kinds.get(*at) != Some(&TokenKind::Joined);
                self.add_typo_candidates(index, words.get(*at).map_or("", String::as_str), *at);
            }
        }
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        for at in 0..plain.len() {
            synonyms::of_phrase(plain.get(at..).unwrap_or_default(), |stem| {
                self.add_synonym(index, stem, None, at);
            });
        }
        // Alternatives must be adjacent.
        self.terms
            .sort_by_key(|other| (other.word, other.via == MatchKind::Joined));
        self.words = words;
    }

    fn add_synonym(&mut self, index: &Index, stem: &str, own: Option<u32>, at: usize) {
        let Some(term) = index.term(stem) else {
            return;
        };
        let idf_of = |term: u32| idf(index.tools_of(term).len(), index.len());
        // A rare synonym of a common word has no more weight than the common word.
        let counted = own.map_or(idf_of(term), |own| idf_of(own).min(idf_of(term)));
        let coverage = SYNONYM_COVERAGE * idf_of(term);
        self.add_term(term, SYNONYM * counted, coverage, MatchKind::Synonym, at);
    }

    /// Adds joined words: `log in` also matches `login`.
    fn add_joined(&mut self, index: &Index, words: &[String], kinds: &[TokenKind]) {
        let mut joined = String::new();
        let simple = |at: usize| {
            !matches!(
                kinds.get(at),
                None | Some(TokenKind::Joined | TokenKind::Bigram)
            )
        };
        for (at, pair) in words.windows(2).enumerate() {
            let [one, other] = pair else { continue };
            if !simple(at)
                || !simple(at + 1)
                || !JOINED_LETTERS.contains(&(one.len() + other.len()))
            {
                continue;
            }
            joined.clear();
            joined.push_str(one);
            joined.push_str(other);
            if let Some(term) = index.term(&stem(&joined)) {
                let idf = idf(index.tools_of(term).len(), index.len());
                self.add_term(term, JOINED * idf, idf, MatchKind::Joined, at);
            }
        }
    }

    fn add_typo_candidates(&mut self, index: &Index, word: &str, at: usize) {
        let letters = word.chars().count();
        let plain = !word.bytes().any(|byte| byte.is_ascii_digit());
        if letters < SHORTEST_TYPO || !plain {
            return;
        }
        let max_typos = if letters < SHORTEST_TWO_TYPOS { 1 } else { 2 };
        let mut candidates: Vec<(u8, u32)> = Vec::new();
        index.find_typos(word, max_typos, |term, typos| {
            candidates.push((typos, term))
        });
        candidates.sort_unstable();
        candidates.dedup();
        let fewest = candidates.first().map_or(0, |(typos, _)| *typos);
        candidates.retain(|(typos, _)| *typos == fewest);
        // The most common word is the most likely; ties are in alphabetical order.
        candidates.sort_by(|(_, one), (_, other)| {
            let common = |term: &u32| index.tools_of(*term).len();
            let by_word = || index.word_of(*one).cmp(index.word_of(*other));
            common(other).cmp(&common(one)).then_with(by_word)
        });
        for (typos, term) in candidates.into_iter().take(TYPO_WORDS) {
            let idf = idf(index.tools_of(term).len(), index.len());
            let factor = WORD_TYPO / f32::from(typos.max(1)) * idf;
            self.add_term(term, factor, factor, MatchKind::Typo, at);
        }
    }

    /// Adds a term unless it already matches exactly or for the same word. A term of several words covers a name once.
    fn add_term(&mut self, term: u32, factor: f32, coverage: f32, via: MatchKind, word: usize) {
        let (mut known, mut covered) = (false, false);
        for other in self.terms.iter().filter(|other| other.term == term) {
            known |= matches!(other.via, MatchKind::Same | MatchKind::Joined) || other.word == word;
            covered = true;
        }
        if !known {
            self.terms.push(QueryTerm {
                term,
                factor,
                coverage: if covered { 0.0 } else { coverage },
                via,
                word,
            });
        }
    }
}

fn tokenize(text: &str, words: &mut Vec<String>) -> Vec<TokenKind> {
    let mut kinds = Vec::new();
    each_word(text, QUERY_BYTES, |word, kind| {
        if words.len() < QUERY_WORDS {
            words.push(word.to_owned());
            kinds.push(kind);
        }
    });
    kinds
}
