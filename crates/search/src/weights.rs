//! All ranking parameters and limits of the search.

use crate::text::Field;

/// Maximum bytes of a word; longer runs are data, not words.
pub(crate) const WORD_BYTES: usize = 48;
/// Maximum bytes of a query that are read. Complete task descriptions are shorter.
pub(crate) const QUERY_BYTES: usize = 4_000;
/// Maximum words of a query that are read, including stop words.
pub(crate) const QUERY_WORDS: usize = 300;
/// Maximum number of steps of a request that are compared by themselves.
pub(crate) const MAX_STEPS: usize = 6;
/// Maximum bytes of a description that are read; later text explains how, not what.
pub(crate) const DESCRIPTION_BYTES: usize = 4_000;
/// Maximum bytes of one text in a schema that are read.
pub(crate) const SCHEMA_TEXT_BYTES: usize = 600;
/// Maximum number of schema nodes that are visited.
pub(crate) const SCHEMA_NODES: usize = 2_000;
/// Maximum bytes of a name that are compared.
pub(crate) const NAME_BYTES: usize = 160;
/// Number of words that a builder keeps between segments, about 3 MB.
pub(crate) const REMEMBERED_WORDS: usize = 50_000;
/// Maximum number of aliases of a tool.
pub(crate) const ALIASES: usize = 16;

/// A logistic function of one number.
pub(crate) struct Logistic {
    pub(crate) offset: f32,
    pub(crate) slope: f32,
}

impl Logistic {
    pub(crate) fn at(&self, value: f32) -> f32 {
        1.0 / (1.0 + (-self.offset - self.slope * value).exp())
    }
}

/// BM25 saturation: how quickly further occurrences of a word stop adding to the score.
pub(crate) const SATURATION: f32 = 1.2;
/// Weight of a word in a field, and how strongly a field longer than average reduces it.
pub(crate) struct FieldWeight {
    pub(crate) weight: f32,
    pub(crate) length_norm: f32,
}

pub(crate) const fn of_field(field: Field) -> FieldWeight {
    let (weight, length_norm) = match field {
        Field::Name => (3.0, 0.5),
        Field::Description => (1.0, 0.5),
        Field::Server => (1.5, 0.5),
        Field::ServerDescription => (0.3, 0.75),
        Field::Parameters => (0.6, 0.75),
        Field::ParameterDescriptions => (0.4, 0.75),
        Field::Choices => (0.3, 0.75),
    };
    FieldWeight {
        weight,
        length_norm,
    }
}

/// Factor for a synonym. Only the best alternative counts, so a word with many synonyms has no advantage.
pub(crate) const SYNONYM: f32 = 0.5;
/// Factor for two words written as one.
pub(crate) const JOINED: f32 = 0.7;
/// Factor for a word with one typo.
pub(crate) const WORD_TYPO: f32 = 0.7;

/// If every tool is below this cosine, the query is unrelated to the catalog and only tools that share a word with it
/// are returned. Random letters stay below it in a small catalog; every measured real query has a tool above it.
pub(crate) const RELATED: f32 = 0.25;

/// Bonus for a tool whose name is covered by the query, with and without meaning. It favours terse tools over verbose
/// ones.
pub(crate) const NAME_COVERED: f32 = 0.05;
pub(crate) const NAME_COVERED_ALONE: f32 = 0.15;
/// Factor of a synonym in name coverage.
pub(crate) const SYNONYM_COVERAGE: f32 = 0.5;
/// Shares of words and meaning in the score. They do not add up to one, because weak word matches do not reach their
/// full share.
pub(crate) const WORDS_PART: f32 = 0.35;
pub(crate) const MEANING_PART: f32 = 0.7;
/// Number of rarest words by which a query is judged, and how well a tool must match them for the full word score.
/// Below that, words count with the square of how well they match: a request in everyday words matches weakly and is
/// decided by meaning, one with names and terms matches well and is decided by words.
pub(crate) const JUDGED_WORDS: usize = 4;
pub(crate) const FULL_MATCH: f32 = 1.5;
/// Share of the document vector in meaning; the rest is the short vector.
pub(crate) const DOCUMENT_SHARE: f32 = 0.75;
/// Share of the server vector in meaning. It keeps verbose servers from attracting unrelated queries.
pub(crate) const SERVER_SHARE: f32 = 0.4;
/// Share of the closest step in meaning, for a request of several steps; the rest is the whole request.
pub(crate) const STEP_SHARE: f32 = 0.5;
/// Bonus of a tool whose name says the action of the request, and deduction for one that says an opposite.
pub(crate) const SAME_ACTION: f32 = 0.02;
pub(crate) const OPPOSITE_ACTION: f32 = 0.05;

/// The chance that a first hit is right, as a logistic function of its cosine, or of its word match without meaning.
/// Fitted on the development halves; `search-eval --reliability` shows how well it holds.
pub(crate) const CONFIDENCE_BY_MEANING: Logistic = Logistic {
    offset: -2.1,
    slope: 4.87,
};
pub(crate) const CONFIDENCE_BY_WORDS: Logistic = Logistic {
    offset: -1.02,
    slope: 1.88,
};
/// Confidence of a query that is a name with typos, or a prefix of one.
pub(crate) const CONFIDENCE_OF_NAME: f32 = 0.9;

/// Minimum similarity of a past query.
pub(crate) const MEMORY_MIN_SIMILARITY: f32 = 0.5;
/// Maximum bonus by the search history, for the same query: more than meaning can add. It falls with the third power of
/// the closeness, so that the neighbours of a used tool keep their places for requests that are only similar.
pub(crate) const MEMORY_MAX: f32 = 0.8;

/// Scores of name matches, above everything that words, meaning and search history can reach together.
pub(crate) const EXACT_NAME: f32 = 100.0;
pub(crate) const PREFIX_NAME: f32 = 40.0;
/// Additional score of a prefix, in proportion to the matched length.
pub(crate) const PREFIX_CLOSENESS: f32 = 1.0;
pub(crate) const TYPO_NAME: [f32; 2] = [20.0, 10.0];

/// Minimum length of a query that is matched as a prefix of names.
pub(crate) const SHORTEST_PREFIX: usize = 2;
/// Minimum length of a name or word that is matched with one typo, and with two.
pub(crate) const SHORTEST_TYPO: usize = 4;
pub(crate) const SHORTEST_TWO_TYPOS: usize = 9;
/// Maximum number of query words that are matched as a name with typos.
pub(crate) const TYPO_NAME_WORDS: usize = 10;
/// Maximum number of dictionary entries that one lookup visits.
pub(crate) const NAMES_PASSED: usize = 50_000;
/// Maximum number of names that one lookup compares letter by letter.
pub(crate) const NAMES_COMPARED: usize = 4_000;
/// Maximum number of alternatives for a mistyped word.
pub(crate) const TYPO_WORDS: usize = 3;
