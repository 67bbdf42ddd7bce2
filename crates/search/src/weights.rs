//! Every number that decides an order or bounds an effort, with its reason.

use crate::text::Field;

/// Characters of a word that count; longer runs are data, not words.
pub(crate) const WORD_BYTES: usize = 48;
/// Bytes of a request that are read. Whole tasks that people write stay below.
pub(crate) const QUERY_BYTES: usize = 4_000;
/// Words of a request that are read, those that say nothing included.
pub(crate) const QUERY_WORDS: usize = 300;
/// Bytes of a description that are read: what comes later says how, not what.
pub(crate) const DESCRIPTION_BYTES: usize = 4_000;
/// Bytes of one text inside a schema that are read.
pub(crate) const SCHEMA_TEXT_BYTES: usize = 600;
/// Places in one schema that are looked at.
pub(crate) const SCHEMA_NODES: usize = 2_000;
/// Bytes of a name that are compared.
pub(crate) const NAME_BYTES: usize = 160;
/// Words that a reader keeps from one segment to the next, about 3 MB of them.
pub(crate) const REMEMBERED_WORDS: usize = 50_000;
/// Aliases of a tool that count.
pub(crate) const ALIASES: usize = 16;

/// How often a word must occur in a tool until more says little more.
pub(crate) const SATURATION: f32 = 1.2;
/// What a word in a field is worth, and how much a field that is longer than usual weakens it.
pub(crate) struct FieldWeight {
    pub(crate) worth: f32,
    pub(crate) by_length: f32,
}

pub(crate) const fn of_field(field: Field) -> FieldWeight {
    let (worth, by_length) = match field {
        Field::Name => (3.0, 0.5),
        Field::Description => (1.0, 0.5),
        Field::Server => (1.5, 0.5),
        Field::ServerDescription => (0.3, 0.75),
        Field::Parameters => (0.6, 0.75),
        Field::ParameterDescriptions => (0.4, 0.75),
        Field::Choices => (0.3, 0.75),
    };
    FieldWeight { worth, by_length }
}

/// What a word of about the same meaning is worth. Only the best of them counts, so that a word with many
/// synonyms is not worth more than one with few.
pub(crate) const SYNONYM: f32 = 0.5;
/// What two words written as one are worth.
pub(crate) const JOINED: f32 = 0.7;
/// What a word that differs by one typo is worth.
pub(crate) const WORD_TYPO: f32 = 0.7;

/// Where every tool stays below this cosine, the request means nothing here, and only tools that share a word with it
/// are found. Letters without meaning stay below it in a small catalog; every real request that was measured has a
/// tool above it.
pub(crate) const RELATED: f32 = 0.25;

/// What it adds that a tool's name is covered by the request, beside meaning and without it. It speaks for terse
/// tools against verbose neighbours.
pub(crate) const NAME_COVERED: f32 = 0.05;
pub(crate) const NAME_COVERED_ALONE: f32 = 0.15;
/// What a synonym counts for when a name is covered.
pub(crate) const SYNONYM_COVERS: f32 = 0.5;
/// What words count for beside meaning, and meaning beside words. They need not add up to one: words that
/// match weakly do not reach their full part.
pub(crate) const WORDS_PART: f32 = 0.5;
pub(crate) const MEANING_PART: f32 = 0.7;
/// How many of its rarest words a request is judged by, and how well a tool must match them for its words to
/// count in full. Without this the best of many poor matches would count like a good one.
pub(crate) const JUDGED_WORDS: usize = 4;
pub(crate) const FULL_MATCH: f32 = 1.65;
/// How much the document vector counts in meaning; the rest is the short vector.
pub(crate) const DOCUMENT_SHARE: f32 = 2.0 / 3.0;
/// How much of the meaning is that of the server as a whole, which keeps verbose servers from attracting
/// requests that are not theirs.
pub(crate) const SERVER_SHARE: f32 = 0.3;

/// How near a past request must be to speak for its tool.
pub(crate) const MEMORY_GATE: f32 = 0.5;
/// The most that past requests add.
pub(crate) const MEMORY_MOST: f32 = 0.8;

/// What names add: above everything that words, meaning and memory can reach together.
pub(crate) const EXACT_NAME: f32 = 100.0;
pub(crate) const PREFIX_NAME: f32 = 40.0;
/// What completing less of the name adds to a prefix.
pub(crate) const PREFIX_CLOSENESS: f32 = 1.0;
pub(crate) const TYPO_NAME: [f32; 2] = [20.0, 10.0];

/// Letters from which a request can be the start of a name.
pub(crate) const SHORTEST_PREFIX: usize = 2;
/// Letters from which a name or a word is looked for with one typo, and with two.
pub(crate) const SHORTEST_TYPO: usize = 4;
pub(crate) const SHORTEST_TWO_TYPOS: usize = 9;
/// Words of a request that can be a whole name with typos.
pub(crate) const TYPO_NAME_WORDS: usize = 10;
/// Entries of a name table that one look-up passes.
pub(crate) const NAMES_PASSED: usize = 50_000;
/// Names that one look-up compares letter by letter.
pub(crate) const NAMES_COMPARED: usize = 4_000;
/// Words that stand in for one that was mistyped.
pub(crate) const TYPO_WORDS: usize = 3;
