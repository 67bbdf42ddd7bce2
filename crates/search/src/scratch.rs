//! Buffers as long as the catalog, kept from search to search.

use crate::index::Index;

/// Buffers that are kept; more searches at once make their own.
const KEPT: usize = 4;

#[derive(Default)]
pub(crate) struct Scratch {
    /// What the words say, by tool.
    pub(crate) words: Vec<Evidence>,
    /// The best of several ways to meet one word, by tool; zero between two words.
    pub(crate) best: Vec<f32>,
    /// Cosines with what servers say about themselves, by segment.
    pub(crate) servers: Vec<f32>,
    /// Cosines with the document and the short vector, by tool.
    pub(crate) document: Vec<f32>,
    pub(crate) short: Vec<f32>,
    /// What names and memory add, by tool.
    pub(crate) names: Vec<f32>,
    pub(crate) memory: Vec<f32>,
}

/// What the words of a request say about a tool. It is kept together because it is counted together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// The sum of what the matching words are worth.
    pub(crate) worth: f32,
    /// How much those say that are in the tool's name.
    pub(crate) of_name: f32,
}

/// A buffer of the right length, all of one value.
pub(crate) fn fill<T: Copy>(buffer: &mut Vec<T>, length: usize, value: T) {
    buffer.clear();
    buffer.resize(length, value);
}

impl Index {
    pub(crate) fn take_scratch(&self) -> Scratch {
        let kept = self.scratches.lock().ok().and_then(|mut all| all.pop());
        kept.unwrap_or_default()
    }

    pub(crate) fn keep_scratch(&self, scratch: Scratch) {
        if let Ok(mut all) = self.scratches.lock()
            && all.len() < KEPT
        {
            all.push(scratch);
        }
    }
}
