//! A store that lasts as long as its process: for embedders that want no files, and for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pegboard_model::{ConfigHash, ServerName, ServerRecord};

use crate::lead::Leads;
use crate::{Lead, Loaded, Store, StoreResult, StoreStats, record_format};

type Key = (ServerName, ConfigHash);

/// Keeps records in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Mutex<BTreeMap<Key, ServerRecord>>,
    leads: Leads,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<Key, ServerRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn load(&self) -> StoreResult<Loaded> {
        Ok(Loaded {
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

    async fn forget(&self, server: &ServerName) -> StoreResult<bool> {
        let mut records = self.records();
        let before = records.len();
        records.retain(|(name, _), _| name != server);
        Ok(records.len() < before)
    }

    async fn clear(&self) -> StoreResult<usize> {
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

    async fn lead(&self, server: &ServerName) -> StoreResult<Lead> {
        self.leads.take(server).await
    }
}
