//! Explanation of a score: the parts that add up to it.

use crate::text::Field;

/// The parts of a score. `score = name + words + coverage + server + meaning + memory + action`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreExplanation {
    /// The match of the whole query with a name, if there is one.
    pub name: Option<NameMatch>,
    /// The matched words; their weights add up to `words`.
    pub matched: Vec<MatchedWord>,
    /// The part of words.
    pub words: f32,
    /// The part of name coverage: how much of the tool's name the words cover.
    pub coverage: f32,
    /// The part of the server's meaning.
    pub server: f32,
    /// The part of the tool's meaning.
    pub meaning: f32,
    /// The cosines with the document vector and the short vector.
    pub cosines: Option<(f32, f32)>,
    /// The part of the search history.
    pub memory: f32,
    /// The part of the verb: positive if the tool's name says what the request asks for, negative if it says the
    /// opposite.
    pub action: f32,
}

/// A query that is, or nearly is, a tool name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NameMatch {
    /// How closely the name matches.
    pub kind: NameMatchKind,
    /// The part of the score.
    pub score: f32,
}

/// How closely a query matches a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameMatchKind {
    /// The query is the name, with or without the server.
    Exact,
    /// The query is a prefix of the name.
    Prefix,
    /// The query is the name with this number of typos.
    Typo(u8),
}

/// A matched query word.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchedWord {
    /// The word as written in the query.
    pub word: String,
    /// The term of the index that it matched, in its indexed form.
    pub term_text: String,
    /// How the word and the term are related.
    pub via: MatchKind,
    /// The fields of the tool that contain the term.
    pub fields: Vec<Field>,
    /// The contribution to the score.
    pub weight: f32,
}

/// How a query word is related to the matched term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// The same word, or another form of it.
    Same,
    /// Two words written as one.
    Joined,
    /// A word with a similar meaning.
    Synonym,
    /// A word that differs by a typo.
    Typo,
}
