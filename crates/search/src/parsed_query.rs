//! A request as the words of the index that it asks for.

use std::borrow::Cow;

use crate::explain::MatchKind;
use crate::idf::idf;
use crate::index::Index;
use crate::literal_values::without_values;
use crate::stems::{is_stop_word, stem};
use crate::synonyms;
use crate::tokens::{Part, cut, each_word, folded};
use crate::weights::{
    JOINED, JUDGED_WORDS, NAME_BYTES, QUERY_BYTES, QUERY_WORDS, SHORTEST_TWO_TYPOS, SHORTEST_TYPO,
    SYNONYM, SYNONYM_COVERS, TYPO_WORDS, WORD_TYPO,
};

/// Letters of two words that may be one word in the index.
const JOINED_LETTERS: std::ops::RangeInclusive<usize> = 4..=14;

/// A request that was read.
pub(crate) struct ParsedQuery {
    /// The whole of it as a name would be compared.
    pub(crate) folded: String,
    /// Whether it is written in one piece, as names are.
    pub(crate) one_piece: bool,
    /// Whether it has a word that no tool has.
    pub(crate) unknown: bool,
    /// Its words as written.
    pub(crate) words: Vec<String>,
    /// How much its rarest words say together.
    pub(crate) mass: f32,
    /// The terms it asks for; none twice.
    pub(crate) wanted: Vec<QueryTerm>,
}

/// A term that is asked for.
pub(crate) struct QueryTerm {
    pub(crate) term: u32,
    /// What its worth for a tool is multiplied with.
    pub(crate) factor: f32,
    /// How much of a name it covers.
    pub(crate) covers: f32,
    pub(crate) via: MatchKind,
    /// Which of the words asks for it. Of all that one word asks for, only the best counts for a tool; joined
    /// words count beside.
    pub(crate) word: usize,
}

impl QueryTerm {
    /// Whether this and another are ways to meet the same word.
    pub(crate) fn is_alternative_to(&self, other: &Self) -> bool {
        self.word == other.word && self.via != MatchKind::Joined && other.via != MatchKind::Joined
    }
}

impl ParsedQuery {
    pub(crate) fn of(text: &str, index: &Index) -> Self {
        let text = cut(text.trim(), QUERY_BYTES);
        let mut parsed = Self {
            folded: if text.len() <= NAME_BYTES {
                folded(text, NAME_BYTES)
            } else {
                String::new()
            },
            one_piece: !text.contains(char::is_whitespace),
            unknown: false,
            words: Vec::new(),
            mass: 0.0,
            wanted: Vec::new(),
        };
        let words = &mut parsed.words;
        let parts = read(&without_values(text), words);
        let parts = if words.iter().all(|word| is_stop_word(word)) {
            words.clear();
            read(text, words)
        } else {
            parts
        };
        parsed.ask(index, &parts);
        parsed
    }

    fn ask(&mut self, index: &Index, parts: &[Part]) {
        let words = std::mem::take(&mut self.words);
        let mut stems: Vec<(usize, Cow<'_, str>, Option<u32>)> = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let stem = stem(word);
            if !is_stop_word(word) && stems.iter().all(|(_, before, _)| *before != stem) {
                let term = index.term(&stem);
                stems.push((at, stem, term));
            }
        }
        let rare = |term: Option<u32>| {
            let having = term.map_or(0, |term| index.tools_of(term).len());
            idf(having, index.len())
        };
        let mut idfs: Vec<f32> = stems.iter().map(|(.., term)| rare(*term)).collect();
        idfs.sort_by(|one, other| other.total_cmp(one));
        self.mass = idfs.iter().take(JUDGED_WORDS).sum();

        for (at, _, term) in &stems {
            if let Some(term) = term {
                let rare = rare(Some(*term));
                self.want(*term, rare, rare, MatchKind::Same, *at);
            }
        }
        self.ask_joined(index, &words, parts);
        for (at, stem, own) in &stems {
            for other in synonyms::of_stem(stem) {
                self.ask_synonym(index, other, *own, *at);
            }
            if own.is_none() {
                self.unknown |= parts.get(*at) != Some(&Part::Joined);
                self.ask_mistyped(index, words.get(*at).map_or("", String::as_str), *at);
            }
        }
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        for at in 0..plain.len() {
            synonyms::of_phrase(plain.get(at..).unwrap_or_default(), |stem| {
                self.ask_synonym(index, stem, None, at);
            });
        }
        // Alternatives are counted together.
        self.wanted
            .sort_by_key(|wanted| (wanted.word, wanted.via == MatchKind::Joined));
        self.words = words;
    }

    fn ask_synonym(&mut self, index: &Index, stem: &str, own: Option<u32>, at: usize) {
        let Some(term) = index.term(stem) else {
            return;
        };
        let rare = |term: u32| idf(index.tools_of(term).len(), index.len());
        // A rare synonym of a common word says no more than the common word would.
        let counted = own.map_or(rare(term), |own| rare(own).min(rare(term)));
        let covers = SYNONYM_COVERS * rare(term);
        self.want(term, SYNONYM * counted, covers, MatchKind::Synonym, at);
    }

    /// `log in` asks for `login` too.
    fn ask_joined(&mut self, index: &Index, words: &[String], parts: &[Part]) {
        let mut joined = String::new();
        let simple = |at: usize| !matches!(parts.get(at), None | Some(Part::Joined | Part::Pair));
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
                let rare = idf(index.tools_of(term).len(), index.len());
                self.want(term, JOINED * rare, rare, MatchKind::Joined, at);
            }
        }
    }

    fn ask_mistyped(&mut self, index: &Index, word: &str, at: usize) {
        let letters = word.chars().count();
        let plain = !word.bytes().any(|byte| byte.is_ascii_digit());
        if letters < SHORTEST_TYPO || !plain {
            return;
        }
        let most = if letters < SHORTEST_TWO_TYPOS { 1 } else { 2 };
        let mut near: Vec<(u8, u32)> = Vec::new();
        index.mistyped(word, most, |term, typos| near.push((typos, term)));
        near.sort_unstable();
        near.dedup();
        let fewest = near.first().map_or(0, |(typos, _)| *typos);
        near.retain(|(typos, _)| *typos == fewest);
        // The commonest word is the likeliest; equal ones stand in the order of their letters.
        near.sort_by(|(_, one), (_, other)| {
            let common = |term: &u32| index.tools_of(*term).len();
            let by_word = || index.word_of(*one).cmp(index.word_of(*other));
            common(other).cmp(&common(one)).then_with(by_word)
        });
        for (typos, term) in near.into_iter().take(TYPO_WORDS) {
            let rare = idf(index.tools_of(term).len(), index.len());
            let factor = WORD_TYPO / f32::from(typos.max(1)) * rare;
            self.want(term, factor, factor, MatchKind::Typo, at);
        }
    }

    /// A term that a word asks for by itself is nothing else as well; one that several words mean covers a name
    /// once.
    fn want(&mut self, term: u32, factor: f32, covers: f32, via: MatchKind, word: usize) {
        let (mut known, mut covered) = (false, false);
        for wanted in self.wanted.iter().filter(|wanted| wanted.term == term) {
            known |=
                matches!(wanted.via, MatchKind::Same | MatchKind::Joined) || wanted.word == word;
            covered = true;
        }
        if !known {
            self.wanted.push(QueryTerm {
                term,
                factor,
                covers: if covered { 0.0 } else { covers },
                via,
                word,
            });
        }
    }
}

fn read(text: &str, words: &mut Vec<String>) -> Vec<Part> {
    let mut parts = Vec::new();
    each_word(text, QUERY_BYTES, |word, part| {
        if words.len() < QUERY_WORDS {
            words.push(word.to_owned());
            parts.push(part);
        }
    });
    parts
}
