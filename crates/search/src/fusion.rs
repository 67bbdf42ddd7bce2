//! The parts of a score, put together.

use crate::index::Index;
use crate::parsed_query::ParsedQuery;
use crate::scratch::Scratch;
use crate::weights::{
    DOCUMENT_SHARE, EXACT_NAME, FULL_MATCH, MEANING_PART, NAME_COVERED, NAME_COVERED_ALONE,
    SERVER_SHARE, WORDS_PART,
};

/// How the parts of one search are scaled: words and meaning are measured in different units, so each is
/// brought to a span of one over the catalog.
pub(crate) struct Fusion<'i> {
    index: &'i Index,
    /// What a worth of words is multiplied with.
    words: f32,
    /// What a covered name adds.
    name: f32,
    meaning: Option<Span>,
    /// The highest cosine of a tool.
    pub(crate) nearest: f32,
}

/// The lowest of some values, and what brings the highest to one.
struct Span {
    low: f32,
    factor: f32,
}

/// The parts of one tool's score.
#[derive(Clone, Copy, Default)]
pub(crate) struct Parts {
    pub(crate) name: f32,
    pub(crate) words: f32,
    pub(crate) coverage: f32,
    pub(crate) server: f32,
    pub(crate) meaning: f32,
    pub(crate) memory: f32,
}

impl Parts {
    pub(crate) fn sum(&self) -> f32 {
        self.name + self.words + self.coverage + self.server + self.meaning + self.memory
    }
}

impl<'i> Fusion<'i> {
    /// Looks at a search whose words, servers and cosines are counted.
    pub(crate) fn of(
        index: &'i Index,
        parsed: &ParsedQuery,
        scratch: &Scratch,
        by_meaning: bool,
    ) -> Self {
        let highest = scratch
            .words
            .iter()
            .map(|words| words.worth)
            .fold(0.0, f32::max);
        let (words, name) = if by_meaning {
            let full = highest.max(FULL_MATCH * parsed.mass);
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
            fusion.meaning = Some(Span::of(cosines));
            let own = (0..index.len()).map(|tool| own_cosine(scratch, tool));
            fusion.nearest = own.fold(f32::NEG_INFINITY, f32::max);
        }
        fusion
    }

    pub(crate) fn words_factor(&self) -> f32 {
        self.words
    }

    /// More than words alone can give a tool for which they are worth so much.
    pub(crate) fn at_most(&self, worth: f32) -> f32 {
        self.words * worth + self.name
    }

    /// The parts of a tool's score.
    pub(crate) fn parts(&self, scratch: &Scratch, tool: usize, segment: usize) -> Parts {
        let of = |values: &[f32], at: usize| values.get(at).copied().unwrap_or(0.0);
        let name = of(&scratch.names, tool);
        if name >= EXACT_NAME {
            // Tools of the same name are equally good; their exposed names decide.
            return Parts {
                name,
                ..Parts::default()
            };
        }
        let evidence = scratch.words.get(tool).copied().unwrap_or_default();
        let words = self.words * evidence.worth;
        let (mut meaning, mut server) = (0.0, 0.0);
        if let Some(span) = &self.meaning {
            let (of_tool, of_server) = cosines(scratch, tool, segment);
            // Where nothing was compared yet, the words speak for meaning, too.
            meaning = MEANING_PART * span.place(of_tool).unwrap_or(words / WORDS_PART);
            server = MEANING_PART * of_server * span.factor;
        }
        let covered = evidence.of_name * inverse(self.index.name_mass(tool));
        let coverage = self.name * covered.min(1.0);
        Parts {
            name,
            words,
            coverage,
            server,
            meaning,
            memory: of(&scratch.memory, tool),
        }
    }
}

impl Span {
    fn of(values: impl Iterator<Item = f32>) -> Self {
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

    /// Where a value lies between the lowest and the highest, from 0 to 1.
    fn place(&self, value: f32) -> Option<f32> {
        value
            .is_finite()
            .then_some((value - self.low) * self.factor)
    }
}

/// What a tool and its server add to a cosine. A tool whose server has no vector speaks for it.
fn cosines(scratch: &Scratch, tool: usize, segment: usize) -> (f32, f32) {
    let own = own_cosine(scratch, tool);
    let server = scratch.servers.get(segment).copied().unwrap_or(f32::NAN);
    if server.is_finite() && own.is_finite() {
        ((1.0 - SERVER_SHARE) * own, SERVER_SHARE * server)
    } else {
        (own, 0.0)
    }
}

/// The cosine of a tool by itself; not a number while it was not compared.
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
