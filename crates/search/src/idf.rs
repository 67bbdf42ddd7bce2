//! Inverse document frequency.

/// The weight of a term that `having` of `all` tools contain.
pub(crate) fn idf(having: usize, all: usize) -> f32 {
    let (having, all) = (having as f32, all as f32);
    ((all - having + 0.5) / (having + 0.5)).ln_1p()
}
