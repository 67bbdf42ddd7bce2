//! Texts to vectors: a small sentence encoder that puts a request near the tool that serves it.
//!
//! Invariant: no files but the system's list of this process's memory, no network, no clock; the weights are data of the
//! program. One more thread runs while a long request is encoded, and none after.
//! Invariant: the same text gives the same bytes, on every processor and however many threads ask.
//! Matrices are multiplied in integers, and everything else in `f32` in one fixed order.
//! Invariant: every vector has length 1, so the dot product of two is their cosine.
//! Invariant: nothing here panics on any text; a text of any length costs a bounded time.

mod encoder;
mod error;
mod forward;
mod kernel;
mod packed;
mod pages;
mod shape;
mod split_attention;
mod text;
mod tokens;
mod vector;
mod weights;

pub use encoder::{Encoder, TextKind};
pub use error::EncoderError;
pub use packed::{PackedVector, score_each, score_pairs, scores};
pub use shape::DIMENSIONS;
pub use text::{document_text, server_text, short_text};
pub use vector::Vector;
