//! Search by meaning: an injected encoder, vectors computed in the background, and the history of searches that led to
//! a call.

mod finder;
mod indexing;
mod search_history;
mod vector_cache;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pegboard_catalog::{QueryVectors, ToolVectors};
use tokio::sync::{Notify, OnceCell};

pub use self::finder::Finder;
pub use self::indexing::MeaningProgress;
use self::search_history::SearchHistory;
use crate::sync::lock;

/// Number of cached query vectors. A model that pages or repeats a search sends the same text.
const RECENT_QUERIES: usize = 32;

/// Encodes texts as vectors. The same text always gives the same vector.
pub trait Encoder: Send + Sync {
    /// Identifies the model; vectors of different models cannot be compared.
    fn model(&self) -> &str;

    /// Encodes a query.
    fn query(&self, text: &str) -> Vec<f32>;

    /// Encodes a tool. The result has [`Encoder::tool_bytes`] bytes.
    fn tool(&self, tool: &EncoderInput) -> Vec<u8>;

    /// Size of a tool's vectors in bytes.
    fn tool_bytes(&self) -> usize;

    /// Encodes a server, with as many bytes as a tool; `None` if there is no description.
    fn server(&self, name: &str, description: &str) -> Option<Vec<u8>>;

    /// Builds a comparison of queries with tools, whose bytes are concatenated, and with their server.
    fn similarity(&self, tools: Vec<u8>, server: Option<&[u8]>) -> Arc<dyn ToolVectors>;

    /// Releases memory that can be loaded again, because nothing is encoded for a while. The encoder stays usable.
    fn release_memory(&self) {}

    /// Encodes a query vector for the search history.
    fn pack(&self, query: &[f32]) -> Vec<u8>;

    /// The cosine between a query and a remembered one; `None` if that one cannot be read.
    fn cosine(&self, query: &[f32], packed: &[u8]) -> Option<f32>;
}

/// The text of a tool that an encoder reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncoderInput {
    /// The server's name.
    pub server: String,
    /// The server's own name of the tool.
    pub name: String,
    /// The tool's description.
    pub description: String,
}

/// The state of search by meaning.
struct Meaning {
    encoder: Arc<dyn Encoder>,
    recent: Mutex<VecDeque<(String, Arc<QueryVectors>)>>,
    /// Set once the stored vectors are loaded.
    loaded: OnceCell<()>,
    /// Notified of every encoded query.
    asked: Notify,
    /// Number of encoded queries.
    requests: AtomicUsize,
}

/// Search by meaning and the search history.
pub(crate) struct MeaningSearch {
    /// `None` without an encoder.
    meaning: Option<Meaning>,
    history: SearchHistory,
}

impl MeaningSearch {
    pub(crate) fn new(encoder: Option<Arc<dyn Encoder>>, remember_searches: bool) -> Self {
        Self {
            meaning: encoder.map(Meaning::new),
            history: SearchHistory::new(remember_searches),
        }
    }
}

impl Meaning {
    fn new(encoder: Arc<dyn Encoder>) -> Self {
        Self {
            encoder,
            recent: Mutex::default(),
            loaded: OnceCell::new(),
            asked: Notify::new(),
            requests: AtomicUsize::new(0),
        }
    }

    fn vectors(&self, text: &str) -> Arc<QueryVectors> {
        let held = lock(&self.recent)
            .iter()
            .find(|(held, _)| held == text)
            .map(|(_, vectors)| vectors.clone());
        if let Some(vectors) = held {
            return vectors;
        }
        let vectors = Arc::new(QueryVectors::new(text, |text| self.encoder.query(text)));
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.asked.notify_one();
        let mut recent = lock(&self.recent);
        if recent.len() >= RECENT_QUERIES {
            recent.pop_front();
        }
        recent.push_back((text.to_owned(), vectors.clone()));
        vectors
    }
}
