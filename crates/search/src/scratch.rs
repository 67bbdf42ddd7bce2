//! Pooled buffers with one entry per tool.

use crate::index::Index;

/// Maximum number of pooled buffers; further concurrent searches allocate their own.
const POOLED: usize = 4;

#[derive(Default)]
pub(crate) struct Scratch {
    /// Scores by words, by tool.
    pub(crate) words: Vec<Evidence>,
    /// The best alternative for the current word, by tool; zero between words.
    pub(crate) best: Vec<f32>,
    /// Cosines with the server vectors, by segment.
    pub(crate) servers: Vec<f32>,
    /// Cosines with the document and the short vector, by tool.
    pub(crate) document: Vec<f32>,
    pub(crate) short: Vec<f32>,
    /// Scores by names and by the search history, by tool; empty if there are none.
    pub(crate) names: Vec<f32>,
    pub(crate) memory: Vec<f32>,
    /// Whether a tool's name says the action of the request or an opposite, by tool; empty if there is none.
    pub(crate) actions: Vec<ActionMatch>,
}

/// How the verbs of a tool's name relate to the action of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ActionMatch {
    #[default]
    Unknown,
    Same,
    Opposite,
}

/// The word score of a tool. Both parts are updated together, so they are adjacent in memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// Sum of the scores of the matching terms.
    pub(crate) score: f32,
    /// Sum of the coverage of the terms in the tool's name.
    pub(crate) name_coverage: f32,
}

/// Resets a buffer to a length and value.
pub(crate) fn fill<T: Copy>(buffer: &mut Vec<T>, length: usize, value: T) {
    buffer.clear();
    buffer.resize(length, value);
}

impl Index {
    pub(crate) fn take_scratch(&self) -> Scratch {
        let pooled = self.scratches.lock().ok().and_then(|mut all| all.pop());
        pooled.unwrap_or_default()
    }

    pub(crate) fn return_scratch(&self, scratch: Scratch) {
        if let Ok(mut all) = self.scratches.lock()
            && all.len() < POOLED
        {
            all.push(scratch);
        }
    }
}
