//! A store whose disk fails as the seed says.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use pegboard_model::{ConfigHash, Reason, ServerName, ServerRecord, ToolError};
use pegboard_store::{
    DiscoveryLock, LoadedRecords, MemoryStore, RememberedQuery, SearchStore, Store, StoreResult,
    StoreStats,
};

use crate::random::Random;

pub(crate) struct FaultyStore {
    inner: MemoryStore,
    random: Mutex<Random>,
    /// The chance that a write fails, in percent.
    pub(crate) fault_chance: AtomicU64,
    pub(crate) faults: AtomicU64,
}

impl FaultyStore {
    pub(crate) fn new(random: Random) -> Self {
        Self {
            inner: MemoryStore::new(),
            random: Mutex::new(random),
            fault_chance: AtomicU64::new(0),
            faults: AtomicU64::new(0),
        }
    }

    fn check(&self) -> StoreResult<()> {
        let chance = self.fault_chance.load(Ordering::Relaxed);
        if !self.random.lock().unwrap().percent(chance) {
            return Ok(());
        }
        self.faults.fetch_add(1, Ordering::Relaxed);
        Err(ToolError::new(Reason::StoreIo, "no space left on device"))
    }
}

#[async_trait]
impl SearchStore for FaultyStore {
    async fn load_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
    ) -> StoreResult<Option<Vec<u8>>> {
        self.inner.load_vectors(server, config, model).await
    }

    async fn save_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
        vectors: Vec<u8>,
    ) -> StoreResult<()> {
        self.check()?;
        self.inner
            .save_vectors(server, config, model, vectors)
            .await
    }

    async fn load_queries(&self, model: &str) -> StoreResult<Vec<RememberedQuery>> {
        self.inner.load_queries(model).await
    }

    async fn remember(&self, model: &str, query: RememberedQuery) -> StoreResult<()> {
        self.check()?;
        self.inner.remember(model, query).await
    }

    async fn clear_queries(&self) -> StoreResult<usize> {
        self.inner.clear_queries().await
    }
}

#[async_trait]
impl Store for FaultyStore {
    async fn load(&self) -> StoreResult<LoadedRecords> {
        self.inner.load().await
    }

    async fn load_server(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>> {
        self.inner.load_server(server, config).await
    }

    async fn save(&self, record: &ServerRecord) -> StoreResult<()> {
        self.check()?;
        self.inner.save(record).await
    }

    async fn save_attempt(&self, record: &ServerRecord) -> StoreResult<()> {
        self.check()?;
        self.inner.save_attempt(record).await
    }

    async fn load_former(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>> {
        self.inner.load_former(server, config).await
    }

    async fn forget(&self, server: &ServerName) -> StoreResult<bool> {
        self.check()?;
        self.inner.forget(server).await
    }

    async fn clear(&self) -> StoreResult<usize> {
        self.check()?;
        self.inner.clear().await
    }

    async fn stats(&self) -> StoreResult<StoreStats> {
        self.inner.stats().await
    }

    async fn lock_discovery(&self, server: &ServerName) -> StoreResult<DiscoveryLock> {
        self.inner.lock_discovery(server).await
    }
}
