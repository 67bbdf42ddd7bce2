//! Batching of writes: records that arrive together are written in one transaction, so that the servers of a whole
//! start wait for the disk once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pegboard_model::ServerRecord;
use tokio::sync::oneshot;

use super::Inner;
use super::rows::{self, SealedRecord};
use crate::StoreResult;

type Waiter = oneshot::Sender<StoreResult<()>>;

/// Records that wait to be written, with their waiters. Bounded by the number of concurrent discoveries.
#[derive(Default)]
pub(super) struct WriteQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    records: Vec<(ServerRecord, Waiter)>,
    /// Whether a writer is running that will take new records.
    is_served: bool,
}

impl WriteQueue {
    /// Adds a record. Returns whether the caller must start a writer.
    pub(super) fn push(&self, record: ServerRecord, waiter: Waiter) -> bool {
        let mut waiting = self.waiting();
        waiting.records.push((record, waiter));
        !std::mem::replace(&mut waiting.is_served, true)
    }

    /// Takes all waiting records. If there are none, the writer ends.
    fn next(&self) -> Vec<(ServerRecord, Waiter)> {
        let mut waiting = self.waiting();
        waiting.is_served = !waiting.records.is_empty();
        std::mem::take(&mut waiting.records)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes all waiting records on a blocking thread.
pub(super) struct QueueWriter(Option<Arc<Inner>>);

impl QueueWriter {
    pub(super) fn new(store: Arc<Inner>) -> Self {
        Self(Some(store))
    }

    pub(super) fn run(mut self) {
        let Some(store) = self.0.take() else { return };
        let mut batch = store.queue.next();
        loop {
            let results = store.write(batch);
            batch = store.queue.next();
            if batch.is_empty() {
                // Released first: a waiter may close the store and inspect its file.
                drop(store);
                return report(results);
            }
            report(results);
        }
    }
}

impl Drop for QueueWriter {
    fn drop(&mut self) {
        // At shutdown the runtime may drop it without running it: then the waiters get an error.
        if let Some(store) = &self.0 {
            while !store.queue.next().is_empty() {}
        }
    }
}

fn report(results: Vec<(Waiter, StoreResult<()>)>) {
    for (waiter, outcome) in results {
        // An error means that the waiter is gone.
        let _ = waiter.send(outcome);
    }
}

impl Inner {
    fn write(&self, batch: Vec<(ServerRecord, Waiter)>) -> Vec<(Waiter, StoreResult<()>)> {
        let sealed: Vec<_> = batch
            .into_iter()
            .map(|(record, waiter)| (SealedRecord::new(&record, &self.sealer), waiter))
            .collect();
        let written = |records: &[&SealedRecord]| {
            self.change("write to the store", |connection| {
                rows::write(connection, records.iter().copied())
            })
        };
        let all = sealed.iter().filter_map(|(record, _)| record.as_ref().ok());
        let all: Vec<_> = all.collect();
        let together = written(&all);
        let is_alone = all.len() == 1;
        let outcome = |record: SealedRecord| match &together {
            // A record that cannot be written must not affect the others.
            Err(_) if !is_alone => written(&[&record]),
            outcome => outcome.clone(),
        };
        sealed
            .into_iter()
            .map(|(record, waiter)| (waiter, record.and_then(outcome)))
            .collect()
    }
}
