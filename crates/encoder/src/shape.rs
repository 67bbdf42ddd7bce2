//! The dimensions of the model. They are constants in types, so that loops over them are unrolled.

/// Dimensions of a vector, and width of the model between its layers.
pub const DIMENSIONS: usize = 384;

/// Width inside the feed-forward part of a layer.
pub(crate) const WIDE: usize = 1536;

/// Weights and inputs are multiplied in pairs.
pub(crate) const PAIRS: usize = DIMENSIONS / 2;
pub(crate) const WIDE_PAIRS: usize = WIDE / 2;

/// Number of matrix rows whose weights are interleaved, two weights of each row at a time.
pub(crate) const ROWS: usize = 16;

/// Number of floats that are computed in parallel, one per lane of a register.
pub(crate) const LANES: usize = 8;
pub(crate) type Lanes = [f32; LANES];

pub(crate) const LAYERS: usize = 6;
pub(crate) const HEADS: usize = 12;

/// The part of the width that one head attends to.
pub(crate) const HEAD: usize = DIMENSIONS / HEADS;

/// The ids of the vocabulary's special entries.
pub(crate) const UNKNOWN: u16 = 100;
pub(crate) const FIRST: u16 = 101;
pub(crate) const LAST: u16 = 102;
