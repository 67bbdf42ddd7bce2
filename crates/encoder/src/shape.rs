//! The sizes of the model. They are types' sizes here, so that loops over them are unrolled.

/// The numbers in a vector, and the width of the model between its layers.
pub const DIMENSIONS: usize = 384;

/// The width inside the feed-forward part of a layer.
pub(crate) const WIDE: usize = 1536;

/// Weights and inputs are multiplied two at a time, so rows are counted in pairs.
pub(crate) const PAIRS: usize = DIMENSIONS / 2;
pub(crate) const WIDE_PAIRS: usize = WIDE / 2;

/// The rows of a matrix whose weights stand together, two of each at a time.
pub(crate) const ROWS: usize = 16;

/// The numbers that are computed side by side, one in each lane of a register.
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
