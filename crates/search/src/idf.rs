//! How much a word says.

/// What it says that a tool has a word, given how many have it.
pub(crate) fn idf(having: usize, all: usize) -> f32 {
    let (having, all) = (having as f32, all as f32);
    ((all - having + 0.5) / (having + 0.5)).ln_1p()
}
