//! A small sentence encoder: it maps texts to vectors such that a request is close to the tools that serve it.
//!
//! Invariant: no network, no clock, and no files except `/proc/self/maps`, which is read before pages of the weights are
//! released. The weights are embedded in the program. A second thread runs only while a long request is encoded.
//! Invariant: the same text gives the same bytes on every processor and from any number of threads. Matrices are
//! multiplied in integers, and everything else in `f32` in a fixed order.
//! Invariant: every vector has length 1, so the dot product of two vectors is their cosine.
//! Invariant: nothing panics on any text, and the cost of a text of any length is bounded.

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
