//! Loading stored vectors, and computing missing ones in the background.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pegboard_catalog::{ServerEntry, ToolView};
use pegboard_model::EventKind;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::vector_cache::{TextKey, VectorCache};
use super::{EncoderInput, Meaning};
use crate::hub::{Hub, Inner};

/// Delay after a start, so that vectors do not slow down the first requests.
const AFTER_START: Duration = Duration::from_millis(500);
/// How long after a query the encoder releases its memory. Queries come in groups, and the first one after a release
/// is slower.
const AFTER_REQUESTS: Duration = Duration::from_secs(60);
/// Tools that are encoded per batch. A shutdown waits for one batch at most.
const ENCODE_BATCH: usize = 4;
/// Characters of a description that are passed to the encoder, which reads fewer.
const DESCRIPTION: usize = 2_000;

/// Progress of encoding the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeaningProgress {
    /// Tools with vectors.
    pub ready: usize,
    /// All searchable tools.
    pub total: usize,
}

impl Hub {
    /// Whether search by meaning is available.
    pub fn has_encoder(&self) -> bool {
        self.inner.search.meaning.is_some()
    }

    /// Loads stored vectors and computes missing ones in the background, now and after every discovery. For
    /// long-running programs.
    pub fn index_meaning_in_background(&self) {
        if !self.has_encoder() {
            return;
        }
        let inner = self.inner.clone();
        let mut events = self.subscribe();
        self.inner.tasks.spawn(async move {
            tokio::time::sleep(AFTER_START).await;
            let mut release_at = None;
            loop {
                inner.make_ready(None, &|_| {}).await;
                loop {
                    let release = async {
                        match release_at {
                            Some(at) => tokio::time::sleep_until(at).await,
                            None => std::future::pending().await,
                        }
                    };
                    let event = tokio::select! {
                        event = events.recv() => event,
                        () = inner.asked() => {
                            release_at = Some(Instant::now() + AFTER_REQUESTS);
                            continue;
                        }
                        () = release => {
                            inner.release_memory();
                            release_at = None;
                            continue;
                        }
                    };
                    match event {
                        Ok(event) if concerns_tools(&event.kind) => break,
                        Ok(_) => {}
                        Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return,
                    }
                }
            }
        });
    }

    /// Loads the stored vectors, once, so that the next search can use them.
    pub async fn load_vectors_once(&self) {
        if let Some(meaning) = &self.inner.search.meaning {
            let load = || async {
                for entry in self.inner.without_vectors() {
                    self.inner.vectors_of(meaning, &entry, None, &|| {}).await;
                }
            };
            meaning.loaded.get_or_init(load).await;
            self.inner.search.history.load(&self.inner, meaning).await;
        }
    }

    /// Computes and stores missing vectors within a time limit, reporting the progress.
    pub async fn index_meaning(
        &self,
        within: Duration,
        emit: &(dyn Fn(MeaningProgress) + Sync),
    ) -> MeaningProgress {
        let deadline = Instant::now() + within;
        self.inner.make_ready(Some(deadline), emit).await
    }
}

fn concerns_tools(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::ServerDiscovered { .. } | EventKind::RegistryUpdated { .. }
    )
}

impl Inner {
    /// The servers whose tools have no vectors yet.
    fn without_vectors(&self) -> Vec<Arc<ServerEntry>> {
        let catalog = self.catalog.load();
        let wanting = catalog.servers().filter(|entry| entry.needs_vectors());
        wanting.cloned().collect()
    }

    async fn make_ready(
        &self,
        deadline: Option<Instant>,
        emit: &(dyn Fn(MeaningProgress) + Sync),
    ) -> MeaningProgress {
        let Some(meaning) = &self.search.meaning else {
            return MeaningProgress { ready: 0, total: 0 };
        };
        let total: usize = self.searched();
        let before = meaning.requests.load(Ordering::Relaxed);
        let mut wanting = self.without_vectors();
        let missing = |entries: &[Arc<ServerEntry>]| -> usize {
            entries
                .iter()
                .map(|entry| entry.searchable_tools().count())
                .sum()
        };
        // Processes that start together begin at different servers and share the results through the store.
        let begin = std::process::id() as usize % wanting.len().max(1);
        wanting.rotate_left(begin);
        let began = missing(&wanting);
        let mut left = began;
        let progress = |left: usize| MeaningProgress {
            ready: total.saturating_sub(left),
            total,
        };
        for entry in wanting {
            let size = entry.searchable_tools().count();
            let read = std::sync::atomic::AtomicUsize::new(0);
            let on_encoded = || {
                let read = read.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                emit(progress(left.saturating_sub(read)));
            };
            let limit = deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
            if self
                .vectors_of(meaning, &entry, Some(limit), &on_encoded)
                .await
            {
                left = left.saturating_sub(size);
            }
        }
        // After a query the encoder keeps its memory for a while, see `AFTER_REQUESTS`.
        if began > 0 && meaning.requests.load(Ordering::Relaxed) == before {
            meaning.encoder.release_memory();
        }
        progress(left)
    }

    /// Waits until a query is encoded.
    async fn asked(&self) {
        match &self.search.meaning {
            Some(meaning) => meaning.asked.notified().await,
            None => std::future::pending().await,
        }
    }

    fn release_memory(&self) {
        if let Some(meaning) = &self.search.meaning {
            meaning.encoder.release_memory();
        }
    }

    fn searched(&self) -> usize {
        let catalog = self.catalog.load();
        let offered = catalog.servers().filter(|entry| entry.is_offered());
        offered.map(|entry| entry.searchable_tools().count()).sum()
    }

    /// Sets an entry's vectors: stored ones and, with a deadline, those that can be computed until then. Returns
    /// whether all are set.
    async fn vectors_of(
        &self,
        meaning: &Meaning,
        entry: &Arc<ServerEntry>,
        deadline: Option<Instant>,
        on_encoded: &(dyn Fn() + Sync),
    ) -> bool {
        let (server, config) = (entry.name(), &entry.spec.hash);
        let encoder = &meaning.encoder;
        let tools: Vec<EncoderInput> = entry
            .searchable_tools()
            .map(|view| text_of(&view))
            .collect();
        let keys: Vec<TextKey> = tools.iter().map(TextKey::of).collect();
        let about = entry.description();
        let server_key = TextKey::of(&EncoderInput {
            server: server.to_string(),
            name: String::new(),
            description: about.to_string(),
        });
        let bytes = self
            .store
            .load_vectors(server, config, encoder.model())
            .await;
        let mut kept = match bytes {
            Ok(Some(bytes)) => VectorCache::read(&bytes, encoder.tool_bytes()),
            Ok(None) | Err(_) => VectorCache::default(),
        };
        let missing: Vec<(TextKey, EncoderInput)> = keys
            .iter()
            .copied()
            .zip(tools)
            .filter(|(key, _)| !kept.has(key))
            .collect();
        if let Some(deadline) = deadline
            && !missing.is_empty()
        {
            let mut missing = missing.into_iter().peekable();
            while missing.peek().is_some() && Instant::now() < deadline {
                let some: Vec<_> = missing.by_ref().take(ENCODE_BATCH).collect();
                let encoder = encoder.clone();
                let work = move || {
                    let read = some.iter().map(|(key, tool)| (*key, encoder.tool(tool)));
                    read.collect::<Vec<_>>()
                };
                let Ok(read) = tokio::task::spawn_blocking(work).await else {
                    return false;
                };
                for (key, vectors) in read {
                    kept.add(key, vectors);
                    on_encoded();
                }
            }
            if !kept.has(&server_key)
                && let Some(vector) = encoder.server(server.as_str(), &about)
            {
                kept.add(server_key, vector);
            }
            let all: Vec<TextKey> = keys.iter().copied().chain([server_key]).collect();
            let written = kept.written(&all);
            let saved = self
                .store
                .save_vectors(server, config, encoder.model(), written)
                .await;
            if let Err(error) = saved {
                tracing::warn!(target: "pegboard", server = %server, "cannot store vectors: {error}");
            }
        }
        match kept.all_of(&keys) {
            Some(all) => {
                entry.set_vectors(encoder.similarity(all, kept.get(&server_key)));
                true
            }
            None => false,
        }
    }
}

fn text_of(view: &ToolView<'_>) -> EncoderInput {
    EncoderInput {
        server: view.server().map(ToString::to_string).unwrap_or_default(),
        name: view.name().to_owned(),
        description: view.description().chars().take(DESCRIPTION).collect(),
    }
}
