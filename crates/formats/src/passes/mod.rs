//! The passes that conversions consist of.

pub(crate) mod clean;
pub(crate) mod inline;
pub(crate) mod merge;
pub(crate) mod patterns;
pub(crate) mod rename;
pub(crate) mod root;
pub(crate) mod shape;
pub(crate) mod tuples;
