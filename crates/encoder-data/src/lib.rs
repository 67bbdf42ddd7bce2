//! The weights and the vocabulary of the sentence encoder, embedded in the program.
//!
//! Invariant: no code; only `pegboard-encoder` interprets the bytes.
//! Invariant: the bytes are read-only data of the program file. The system loads a page on first access, so a process
//! that never searches by meaning does not pay for them.

/// Aligns the bytes to a cache line, so that no block spans two lines.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

static ALIGNED_WEIGHTS: &Aligned<[u8]> =
    &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/weights")));

/// The model in the safetensors format: every matrix as int8 with a scale per row. The matrices of the layers are in
/// the order of `blocks.rs`: sixteen rows interleaved, two weights of each at a time.
pub static WEIGHTS: &[u8] = &ALIGNED_WEIGHTS.0;

/// The WordPiece vocabulary: one entry per line; the line number is the entry's id.
pub static VOCABULARY: &str = include_str!("../vocab.txt");

/// The BLAKE3 hash of the model file. Vectors of different models must never be compared, so stored vectors must be
/// stored together with this hash.
pub const FINGERPRINT: &str = "bcda076aec256edf53031229df6991be6533dad2333626fc68deb29d48e52740";
