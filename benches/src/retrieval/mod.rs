//! Catalogs in files and their vectors, for the programs that measure the search.

mod corpus;
mod searcher;
mod vector_file;
mod vectors;

pub use corpus::Corpus;
pub use searcher::{PastQuery, Searcher};
pub use vectors::CachedEncoder;
