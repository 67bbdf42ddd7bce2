//! Combination of the parts of a score.

use crate::index::Index;
use crate::parsed_query::ParsedQuery;
use crate::scratch::{ActionMatch, Scratch};
use crate::weights::{
    CONFIDENCE_BY_MEANING, CONFIDENCE_BY_WORDS, CONFIDENCE_OF_NAME, DOCUMENT_SHARE, EXACT_NAME,
    FULL_MATCH, MEANING_PART, NAME_COVERED, NAME_COVERED_ALONE, OPPOSITE_ACTION, SAME_ACTION,
    SERVER_SHARE, WORDS_PART,
};

/// The scaling of the parts of one search. Words and meaning have different units, so each is normalized to a range of
/// one over the catalog.
pub(crate) struct Fusion<'i> {
    index: &'i Index,
    words: WordScale,
    /// Inverse of the word score of a full match.
    full: f32,
    /// Bonus for a fully covered name.
    name: f32,
    meaning: Option<Scale>,
    /// The highest cosine of a tool.
    pub(crate) nearest: f32,
}

/// How a word score becomes a part of the score.
#[derive(Clone, Copy)]
enum WordScale {
    /// In proportion, if words alone decide.
    Linear(f32),
    /// With the square of the share of a full match, beside meaning.
    Squared(f32),
}

impl WordScale {
    /// The part of a word score.
    fn part(self, score: f32) -> f32 {
        self.factor(score) * score
    }

    /// The factor from the score of a single word to its part, in a tool with this word score.
    fn factor(self, score: f32) -> f32 {
        match self {
            Self::Linear(inverse) => inverse,
            Self::Squared(inverse) => WORDS_PART * inverse * inverse * score,
        }
    }
}

/// A linear scale that maps the lowest value to 0 and the highest to 1.
struct Scale {
    low: f32,
    factor: f32,
}

/// The parts of one tool's score.
#[derive(Clone, Copy, Default)]
pub(crate) struct ScoreParts {
    pub(crate) name: f32,
    pub(crate) words: f32,
    pub(crate) coverage: f32,
    pub(crate) server: f32,
    pub(crate) meaning: f32,
    pub(crate) memory: f32,
    pub(crate) action: f32,
}

impl ScoreParts {
    pub(crate) fn sum(&self) -> f32 {
        self.name
            + self.words
            + self.coverage
            + self.server
            + self.meaning
            + self.memory
            + self.action
    }
}

impl<'i> Fusion<'i> {
    /// Determines the scaling after words, servers and cosines have been scored.
    pub(crate) fn new(
        index: &'i Index,
        parsed: &ParsedQuery,
        scratch: &Scratch,
        by_meaning: bool,
    ) -> Self {
        let highest = scratch
            .words
            .iter()
            .map(|words| words.score)
            .fold(0.0, f32::max);
        let full = highest.max(FULL_MATCH * parsed.idf_sum);
        let (words, name) = if by_meaning {
            (WordScale::Squared(inverse(full)), NAME_COVERED)
        } else {
            (WordScale::Linear(inverse(highest)), NAME_COVERED_ALONE)
        };
        let mut fusion = Self {
            index,
            words,
            full: inverse(full),
            name,
            meaning: None,
            nearest: f32::NEG_INFINITY,
        };
        if by_meaning {
            let tools = (0..index.segments.len())
                .flat_map(|segment| index.range(segment).map(move |tool| (tool, segment)));
            let cosines = tools.map(|(tool, segment)| {
                let (own, server) = cosines(scratch, tool, segment);
                own + server
            });
            fusion.meaning = Some(Scale::new(cosines));
            let own = (0..index.len()).map(|tool| own_cosine(scratch, tool));
            fusion.nearest = own.fold(f32::NEG_INFINITY, f32::max);
        }
        fusion
    }

    /// The factor from the score of a single word to its part, for a tool.
    pub(crate) fn words_factor(&self, scratch: &Scratch, tool: usize) -> f32 {
        let evidence = scratch.words.get(tool).copied().unwrap_or_default();
        self.words.factor(evidence.score)
    }

    /// The chance that this tool is the right one, from 0 to 1, if it is the first hit.
    pub(crate) fn confidence(&self, scratch: &Scratch, tool: usize, parts: &ScoreParts) -> f32 {
        let cosine = own_cosine(scratch, tool);
        let share = scratch.words.get(tool).map_or(0.0, |words| words.score) * self.full;
        let by_text = if self.meaning.is_some() && cosine.is_finite() {
            CONFIDENCE_BY_MEANING.at(cosine)
        } else {
            CONFIDENCE_BY_WORDS.at(share.min(1.0))
        };
        let by_name = match parts.name {
            name if name >= EXACT_NAME => 1.0,
            name if name > 0.0 => CONFIDENCE_OF_NAME,
            _ => 0.0,
        };
        by_text
            .max(by_name)
            .max(parts.memory.min(CONFIDENCE_OF_NAME))
    }

    /// Upper bound of the words, coverage and action parts for a word score.
    pub(crate) fn at_most(&self, score: f32) -> f32 {
        self.words.part(score) + self.name + SAME_ACTION
    }

    /// The parts of a tool's score.
    pub(crate) fn parts(&self, scratch: &Scratch, tool: usize, segment: usize) -> ScoreParts {
        let of = |values: &[f32], at: usize| values.get(at).copied().unwrap_or(0.0);
        let name = of(&scratch.names, tool);
        if name >= EXACT_NAME {
            // Tools with the same name have equal scores and are ordered by exposed name.
            return ScoreParts {
                name,
                ..ScoreParts::default()
            };
        }
        let evidence = scratch.words.get(tool).copied().unwrap_or_default();
        let words = self.words.part(evidence.score);
        let (mut meaning, mut server) = (0.0, 0.0);
        if let Some(scale) = &self.meaning {
            let (of_tool, of_server) = cosines(scratch, tool, segment);
            // A tool without a vector uses its word score for meaning as well.
            meaning = MEANING_PART * scale.normalize(of_tool).unwrap_or(words / WORDS_PART);
            server = MEANING_PART * of_server * scale.factor;
        }
        let covered = evidence.name_coverage * inverse(self.index.name_idf_sum(tool));
        let coverage = self.name * covered.min(1.0);
        ScoreParts {
            name,
            words,
            coverage,
            server,
            meaning,
            memory: of(&scratch.memory, tool),
            action: match scratch.actions.get(tool) {
                Some(ActionMatch::Same) => SAME_ACTION,
                Some(ActionMatch::Opposite) => -OPPOSITE_ACTION,
                Some(ActionMatch::Unknown) | None => 0.0,
            },
        }
    }
}

impl Scale {
    fn new(values: impl Iterator<Item = f32>) -> Self {
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        Self {
            low,
            factor: inverse(high - low),
        }
    }

    /// Maps a value to the range from 0 to 1; `None` for NaN.
    fn normalize(&self, value: f32) -> Option<f32> {
        value
            .is_finite()
            .then_some((value - self.low) * self.factor)
    }
}

/// The parts of tool and server in the combined cosine. Without a server vector the tool counts in full.
fn cosines(scratch: &Scratch, tool: usize, segment: usize) -> (f32, f32) {
    let own = own_cosine(scratch, tool);
    let server = scratch.servers.get(segment).copied().unwrap_or(f32::NAN);
    if server.is_finite() && own.is_finite() {
        ((1.0 - SERVER_SHARE) * own, SERVER_SHARE * server)
    } else {
        (own, 0.0)
    }
}

/// The cosine of a tool without its server; NaN if it has no vector.
fn own_cosine(scratch: &Scratch, tool: usize) -> f32 {
    let of = |values: &[f32]| values.get(tool).copied().unwrap_or(f32::NAN);
    DOCUMENT_SHARE * of(&scratch.document) + (1.0 - DOCUMENT_SHARE) * of(&scratch.short)
}

fn inverse(value: f32) -> f32 {
    if value > f32::EPSILON && value.is_finite() {
        1.0 / value
    } else {
        0.0
    }
}
