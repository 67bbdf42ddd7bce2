//! ScoreExplanation a tool was found, in parts that add up to its score.

use crate::text::Field;

/// ScoreExplanation a tool was found. `score = name + words + coverage + server + meaning + memory`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreExplanation {
    /// How the request as a whole matches a name, and what that adds.
    pub name: Option<NameMatch>,
    /// The words that matched; their weights add up to `words`.
    pub matched: Vec<MatchedWord>,
    /// What the words add.
    pub words: f32,
    /// What it adds how much of the tool's name these words are.
    pub coverage: f32,
    /// What the meaning of its server adds.
    pub server: f32,
    /// What the meaning adds.
    pub meaning: f32,
    /// The cosines behind it: with the document, and with the server and name.
    pub cosines: Option<(f32, f32)>,
    /// What past searches add.
    pub memory: f32,
}

/// A request that is, or nearly is, a tool's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NameMatch {
    /// How near.
    pub kind: NameMatchKind,
    /// What it adds.
    pub score: f32,
}

/// How near a request is to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameMatchKind {
    /// It is the name, with or without the server.
    Exact,
    /// The name starts with it.
    Prefix,
    /// It is the name with so many typos.
    Typo(u8),
}

/// A word that matched.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchedWord {
    /// The word as the request has it.
    pub word: String,
    /// The word of the index that it met, in its indexed form.
    pub term_text: String,
    /// How they are related.
    pub via: MatchKind,
    /// Where the tool has it.
    pub fields: Vec<Field>,
    /// What it adds to the score.
    pub weight: f32,
}

/// How a word of a request is related to the word that it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// The same word, or another form of it.
    Same,
    /// Two words written as one.
    Joined,
    /// A word that means about the same.
    Synonym,
    /// A word that differs by a typo.
    Typo,
}
