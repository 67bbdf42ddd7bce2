//! Records that arrive together are written together: one transaction instead of many, so that the servers
//! of a whole start wait for the disk once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pegboard_model::ServerRecord;
use tokio::sync::oneshot;

use super::Inner;
use super::rows::{self, SealedRecord};
use crate::StoreResult;

type Waiter = oneshot::Sender<StoreResult<()>>;

/// Records that wait to be written, and who waits for that. There are never more than discoveries under way.
#[derive(Default)]
pub(super) struct WriteQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    records: Vec<(ServerRecord, Waiter)>,
    /// Whether somebody is at work who will take what is added here.
    is_served: bool,
}

impl WriteQueue {
    /// Adds a record; whether the caller must see to it that somebody writes.
    pub(super) fn push(&self, record: ServerRecord, waiter: Waiter) -> bool {
        let mut waiting = self.waiting();
        waiting.records.push((record, waiter));
        !std::mem::replace(&mut waiting.is_served, true)
    }

    /// All that wait now; none means that nobody serves any more.
    fn next(&self) -> Vec<(ServerRecord, Waiter)> {
        let mut waiting = self.waiting();
        waiting.is_served = !waiting.records.is_empty();
        std::mem::take(&mut waiting.records)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who writes all that waits, on a thread that may wait for the disk.
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
                // Given back first: whoever waited may close the store and look at its file.
                drop(store);
                return report(results);
            }
            report(results);
        }
    }
}

impl Drop for QueueWriter {
    fn drop(&mut self) {
        // A runtime that goes down may never run it: then those who wait are told, and the next one serves.
        if let Some(store) = &self.0 {
            while !store.queue.next().is_empty() {}
        }
    }
}

fn report(results: Vec<(Waiter, StoreResult<()>)>) {
    for (waiter, outcome) in results {
        // Who no longer waits does not need to know.
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
            // One that cannot be written must not cost the others.
            Err(_) if !is_alone => written(&[&record]),
            outcome => outcome.clone(),
        };
        sealed
            .into_iter()
            .map(|(record, waiter)| (waiter, record.and_then(outcome)))
            .collect()
    }
}
