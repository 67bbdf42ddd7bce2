//! Search by meaning: an encoder that somebody brings, vectors that are made beside all other work, and the
//! memory of searches that led somewhere.

mod finder;
mod indexing;
mod search_memory;
mod vector_cache;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use pegboard_catalog::ToolVectors;
use tokio::sync::{Notify, OnceCell};

pub use self::finder::Finder;
pub use self::indexing::MeaningProgress;
use self::search_memory::SearchMemory;
use crate::sync::lock;

/// Queries whose vectors are at hand, because a model that pages or asks again sends the same words.
const RECENT_QUERIES: usize = 32;

/// Turns texts into vectors. The same text always gives the same vector.
pub trait Encoder: Send + Sync {
    /// What tells this encoder's vectors from those of others.
    fn model(&self) -> &str;

    /// The vector of a request.
    fn query(&self, text: &str) -> Vec<f32>;

    /// The vectors of a tool: as many bytes for every tool.
    fn tool(&self, tool: &EncoderInput) -> Vec<u8>;

    /// How many bytes that is.
    fn tool_bytes(&self) -> usize;

    /// The vector of a server: as many bytes as a tool's; `None` when nothing is said about it.
    fn server(&self, name: &str, description: &str) -> Option<Vec<u8>>;

    /// Compares requests with tools, whose bytes follow each other, and with their server.
    fn similarity(&self, tools: Vec<u8>, server: Option<&[u8]>) -> Arc<dyn ToolVectors>;

    /// Nothing is encoded for a while: what the encoder can get again is given back. It may be asked again at any time.
    fn rest(&self) {}

    /// A request's vector as it is remembered.
    fn pack(&self, query: &[f32]) -> Vec<u8>;

    /// The cosine between a request and a remembered one; `None` when that cannot be read.
    fn cosine(&self, query: &[f32], packed: &[u8]) -> Option<f32>;
}

/// What an encoder reads of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncoderInput {
    /// The name of its server.
    pub server: String,
    /// The server's name for it.
    pub name: String,
    /// What is said about it.
    pub description: String,
}

/// Everything about meaning that a hub holds.
struct Meaning {
    encoder: Arc<dyn Encoder>,
    recent: Mutex<VecDeque<(String, Arc<[f32]>)>>,
    /// Set when the kept vectors were loaded once.
    loaded: OnceCell<()>,
    /// Told of each request that was encoded.
    asked: Notify,
    /// How many these were.
    requests: AtomicUsize,
}

/// Search by meaning and the memory of past searches.
pub(crate) struct MeaningSearch {
    /// `None` without an encoder.
    meaning: Option<Meaning>,
    memory: SearchMemory,
}

impl MeaningSearch {
    pub(crate) fn new(encoder: Option<Arc<dyn Encoder>>, remember_searches: bool) -> Self {
        Self {
            meaning: encoder.map(Meaning::new),
            memory: SearchMemory::new(remember_searches),
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

    fn vector(&self, text: &str) -> Arc<[f32]> {
        let held = lock(&self.recent)
            .iter()
            .find(|(held, _)| held == text)
            .map(|(_, vector)| vector.clone());
        if let Some(vector) = held {
            return vector;
        }
        let vector: Arc<[f32]> = self.encoder.query(text).into();
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.asked.notify_one();
        let mut recent = lock(&self.recent);
        if recent.len() >= RECENT_QUERIES {
            recent.pop_front();
        }
        recent.push_back((text.to_owned(), vector.clone()));
        vector
    }
}
