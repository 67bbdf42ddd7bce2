//! TextKind to vocabulary entries.

mod normalise;
mod wordpiece;

pub(crate) use wordpiece::Vocabulary;
