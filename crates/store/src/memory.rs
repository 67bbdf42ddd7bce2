//! A store in memory, for embedders that want no files, and for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pegboard_model::{ConfigHash, ServerName, ServerRecord};

use crate::discovery_lock::DiscoveryLocks;
use crate::search_store::{MAX_REMEMBERED_QUERIES, RememberedQuery, SearchStore};
use crate::{DiscoveryLock, LoadedRecords, Store, StoreResult, StoreStats, record_format};

type Key = (ServerName, ConfigHash);

/// Stores records in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Mutex<BTreeMap<Key, ServerRecord>>,
    /// With the model that they belong to.
    vectors: Mutex<BTreeMap<Key, (String, Vec<u8>)>>,
    /// With the model that each belongs to, newest last.
    remembered: Mutex<Vec<(String, RememberedQuery)>>,
    discovery_locks: DiscoveryLocks,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<Key, ServerRecord>> {
        lock(&self.records)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl SearchStore for MemoryStore {
    async fn load_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
    ) -> StoreResult<Option<Vec<u8>>> {
        let vectors = lock(&self.vectors);
        let held = vectors.get(&(server.clone(), *config));
        Ok(held
            .filter(|(of, _)| of == model)
            .map(|(_, vectors)| vectors.clone()))
    }

    async fn save_vectors(
        &self,
        server: &ServerName,
        config: &ConfigHash,
        model: &str,
        vectors: Vec<u8>,
    ) -> StoreResult<()> {
        let key = (server.clone(), *config);
        if self.records().contains_key(&key) {
            lock(&self.vectors).insert(key, (model.to_owned(), vectors));
        }
        Ok(())
    }

    async fn load_queries(&self, model: &str) -> StoreResult<Vec<RememberedQuery>> {
        let remembered = lock(&self.remembered);
        let of_model = remembered.iter().rev().filter(|(of, _)| of == model);
        Ok(of_model.map(|(_, query)| query.clone()).collect())
    }

    async fn remember(&self, model: &str, query: RememberedQuery) -> StoreResult<()> {
        let mut remembered = lock(&self.remembered);
        if remembered.len() >= MAX_REMEMBERED_QUERIES {
            remembered.remove(0);
        }
        remembered.push((model.to_owned(), query));
        Ok(())
    }

    async fn clear_queries(&self) -> StoreResult<usize> {
        Ok(std::mem::take(&mut *lock(&self.remembered)).len())
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self) -> StoreResult<LoadedRecords> {
        Ok(LoadedRecords {
            records: self.records().values().cloned().collect(),
            notices: Vec::new(),
        })
    }

    async fn load_server(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>> {
        Ok(self.records().get(&(server.clone(), *config)).cloned())
    }

    async fn save(&self, record: &ServerRecord) -> StoreResult<()> {
        let key = (record.server.clone(), record.config);
        self.records().insert(key, record.clone());
        Ok(())
    }

    async fn save_attempt(&self, record: &ServerRecord) -> StoreResult<()> {
        let key = (record.server.clone(), record.config);
        let mut records = self.records();
        records.entry(key).or_insert_with(|| record.clone());
        Ok(())
    }

    async fn load_former(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> StoreResult<Option<ServerRecord>> {
        let records = self.records();
        let former = records
            .values()
            .filter(|record| record.server == *server && record.config != *config)
            .filter(|record| record.is_known());
        Ok(former.max_by_key(|record| record.discovered_at).cloned())
    }

    async fn forget(&self, server: &ServerName) -> StoreResult<bool> {
        let mut records = self.records();
        let before = records.len();
        records.retain(|(name, _), _| name != server);
        lock(&self.vectors).retain(|(name, _), _| name != server);
        Ok(records.len() < before)
    }

    async fn clear(&self) -> StoreResult<usize> {
        lock(&self.vectors).clear();
        Ok(std::mem::take(&mut *self.records()).len())
    }

    async fn stats(&self) -> StoreResult<StoreStats> {
        let records = self.records();
        let mut stats = StoreStats {
            servers: records.len(),
            ..StoreStats::default()
        };
        for record in records.values() {
            stats.tools += record.tools.len();
            stats.bytes += record_format::encode(record)?.len() as u64;
        }
        stats.oldest = records
            .values()
            .filter_map(|record| record.discovered_at)
            .min();
        stats.newest = records
            .values()
            .filter_map(|record| record.discovered_at)
            .max();
        Ok(stats)
    }

    async fn lock_discovery(&self, server: &ServerName) -> StoreResult<DiscoveryLock> {
        self.discovery_locks.take(server).await
    }
}
