//! Combination of the parts of a score.

use crate::index::Index;
use crate::parsed_query::ParsedQuery;
use crate::scratch::Scratch;
use crate::weights::{
    DOCUMENT_SHARE, EXACT_NAME, FULL_MATCH, MEANING_PART, NAME_COVERED, NAME_COVERED_ALONE,
    SERVER_SHARE, WORDS_PART,
};

/// The scaling of the parts of one search. Words and meaning have different units, so each is normalized to a range of
/// one over the catalog.
pub(crate) struct Fusion<'i> {
    index: &'i Index,
    /// Factor of the word score.
    words: f32,
    /// Bonus for a fully covered name.
    name: f32,
    meaning: Option<Scale>,
    /// The highest cosine of a tool.
    pub(crate) nearest: f32,
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
}

impl ScoreParts {
    pub(crate) fn sum(&self) -> f32 {
        self.name + self.words + self.coverage + self.server + self.meaning + self.memory
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
        let (words, name) = if by_meaning {
            let full = highest.max(FULL_MATCH * parsed.idf_sum);
            (WORDS_PART * inverse(full), NAME_COVERED)
        } else {
            (inverse(highest), NAME_COVERED_ALONE)
        };
        let mut fusion = Self {
            index,
            words,
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

    pub(crate) fn words_factor(&self) -> f32 {
        self.words
    }

    /// Upper bound of the words and coverage parts for a word score.
    pub(crate) fn at_most(&self, score: f32) -> f32 {
        self.words * score + self.name
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
        let words = self.words * evidence.score;
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
