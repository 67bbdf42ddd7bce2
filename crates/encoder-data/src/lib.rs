//! The weights and the vocabulary of the sentence encoder, as bytes inside the program.
//!
//! Invariant: no code: what the bytes mean is known to `pegboard-encoder` alone.
//! Invariant: the bytes are read-only data of the program file. The system loads a page of them when
//! it is first read, so a process that never searches by meaning does not pay for them.

/// Keeps the bytes on a cache line boundary, so that reading them in blocks is not split.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static ALIGNED_WEIGHTS: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/weights")));

/// The model: every matrix as int8 with a scale per row, in the safetensors format. The weights of
/// a layer's matrix stand in the order of `blocks.rs`: sixteen rows together, two weights of each at a
/// time.
pub static WEIGHTS: &[u8] = &ALIGNED_WEIGHTS.0;

/// The WordPiece vocabulary: one entry a line, the line's number is the entry's id.
pub static VOCABULARY: &str = include_str!("../vocab.txt");

/// The BLAKE3 hash of the model file. Vectors of different models must never be compared, so
/// whoever keeps vectors keeps this with them.
pub const FINGERPRINT: &str = "76ba53e726f04fd4e8b517d1e6d4f2ba3a1c6e16befc5bf6cfcbabbadf46699b";
