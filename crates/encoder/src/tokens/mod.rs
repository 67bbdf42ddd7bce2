//! Tokenization.

mod normalise;
mod wordpiece;

pub(crate) use wordpiece::Vocabulary;
