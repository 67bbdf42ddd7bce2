//! Finds the arrangements of words that rules describe.

use super::classes::{Classes, DESCRIBES, IGNORE, NOT, PROHIBIT};
use super::rules::Shape;
use super::words::Word;

/// Words between `not` and what it forbids.
const NEGATION_REACH: usize = 3;

/// Where a shape was found.
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether the text before it describes attacks, as the text of a security tool does.
    pub(super) is_quoted: bool,
}

/// A text that is split into words and sentences.
pub(super) struct Sentences<'a> {
    words: &'a [Word],
    /// Each sentence's words and the classes in it.
    sentences: Vec<(&'a [Word], Classes)>,
    all: Classes,
}

fn union(words: &[Word]) -> Classes {
    words.iter().fold(0, |all, word| all | word.classes)
}

impl<'a> Sentences<'a> {
    pub(super) fn new(words: &'a [Word]) -> Self {
        let sentences = words.chunk_by(|one, other| one.sentence == other.sentence);
        let sentences: Vec<_> = sentences.map(|words| (words, union(words))).collect();
        let all = sentences.iter().fold(0, |all, (_, classes)| all | classes);
        Self {
            words,
            sentences,
            all,
        }
    }

    pub(super) fn find(&self, shape: &Shape, in_schema: bool) -> Option<Match> {
        match shape {
            Shape::InSchema(_) if !in_schema => None,
            Shape::Near(steps) | Shape::InSchema(steps) => {
                let needed = steps.iter().map(|(classes, _)| *classes);
                if !has_all(self.all, needed.clone()) {
                    return None;
                }
                let candidates = self
                    .sentences
                    .iter()
                    .filter(|(_, classes)| has_all(*classes, needed.clone()));
                candidates
                    .map(|(words, _)| near(words, steps))
                    .find_map(|found| found)
            }
            Shape::Together(classes) => {
                let has = |(_, of): &&(&[Word], Classes)| has_all(*of, classes.iter().copied());
                self.sentences
                    .iter()
                    .find(has)
                    .and_then(|(words, _)| whole(words, words))
            }
            Shape::Across(classes) => {
                let first = *classes.first()?;
                if !has_all(self.all, classes.iter().copied()) {
                    return None;
                }
                let at = self
                    .words
                    .iter()
                    .position(|word| word.classes & first != 0)?;
                let found = self.words.get(at..)?;
                whole(found, self.words.get(..at)?)
            }
        }
    }
}

fn has_all(classes: Classes, mut needed: impl Iterator<Item = Classes>) -> bool {
    needed.all(|needed| classes & needed != 0)
}

fn whole(words: &[Word], before: &[Word]) -> Option<Match> {
    let (first, last) = (words.first()?, words.last()?);
    Some(Match {
        start: first.start,
        end: last.end,
        is_quoted: union(before) & DESCRIBES != 0,
    })
}

/// Finds the steps in order. Each is searched in the window after the one before it.
fn near(words: &[Word], steps: &[(Classes, usize)]) -> Option<Match> {
    let ((first, _), rest) = steps.split_first()?;
    let starts = words
        .iter()
        .enumerate()
        .filter(|(_, word)| word.classes & first != 0);
    for (start, _) in starts {
        if first & (NOT | PROHIBIT) == 0 && is_negated(words, start) {
            continue;
        }
        if let Some(end) = follow(words, start, rest) {
            let (from, to) = (words.get(start)?, words.get(end)?);
            let is_quoted = union(words.get(..start)?) & DESCRIBES != 0;
            return Some(Match {
                start: from.start,
                end: to.end,
                is_quoted,
            });
        }
    }
    None
}

/// Whether a word is forbidden by the words before it: `do not include`, but not `do not forget to include`.
fn is_negated(words: &[Word], at: usize) -> bool {
    let from = at.saturating_sub(NEGATION_REACH);
    let before = words.get(from..at).unwrap_or_default();
    let not = before.iter().rposition(|word| word.classes & NOT != 0);
    not.is_some_and(|not| {
        let between = before.get(not..).unwrap_or_default();
        union(between) & IGNORE == 0
    })
}

/// The position of the last step. Every position within a window is tried, so that a step is not missed because its
/// class also occurs earlier; windows are short and there are at most four steps.
fn follow(words: &[Word], at: usize, steps: &[(Classes, usize)]) -> Option<usize> {
    let Some(((classes, gap), rest)) = steps.split_first() else {
        return Some(at);
    };
    let window = words.get(at + 1..).unwrap_or_default().iter().take(*gap);
    window
        .enumerate()
        .filter(|(_, word)| word.classes & classes != 0)
        .find_map(|(step, _)| follow(words, at + 1 + step, rest))
}
