//! Single flight: the same work requested several times at once runs once.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::sync::lock;
use crate::tasks::Tasks;

type FlightResult<V> = watch::Receiver<Option<V>>;

/// Work in progress.
struct Flight<V> {
    result: FlightResult<V>,
    since: Instant,
}

/// Work in progress by key. The work runs in its own task, so a caller that goes away does not cancel it for the
/// others.
pub(super) struct SingleFlight<K, V> {
    in_progress: Arc<Mutex<HashMap<K, Flight<V>>>>,
}

impl<K, V> SingleFlight<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub(super) fn new() -> Self {
        Self {
            in_progress: Arc::default(),
        }
    }

    /// Joins the work for this key, or starts it. Returns `None` if the work was cancelled.
    pub(super) async fn join<F>(&self, tasks: &Tasks, key: K, work: impl FnOnce() -> F) -> Option<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut result = self.start_or_join(tasks, key, work);
        let finished = result.wait_for(Option::is_some).await.ok()?;
        finished.clone()
    }

    /// Waits until the work that is in progress for this key, if any, has finished.
    pub(super) async fn wait(&self, key: &K) {
        let flight = lock(&self.in_progress)
            .get(key)
            .map(|flight| flight.result.clone());
        if let Some(mut result) = flight {
            // An error means that it was cancelled, which also ends the wait.
            let _ = result.wait_for(Option::is_some).await;
        }
    }

    /// How long the work for this key has been running, if it is in progress.
    pub(super) fn age(&self, key: &K) -> Option<Duration> {
        let in_progress = lock(&self.in_progress);
        in_progress.get(key).map(|flight| flight.since.elapsed())
    }

    fn start_or_join<F>(&self, tasks: &Tasks, key: K, work: impl FnOnce() -> F) -> FlightResult<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut in_progress = lock(&self.in_progress);
        if let Some(flight) = in_progress.get(&key) {
            return flight.result.clone();
        }
        let (sender, receiver) = watch::channel(None);
        let flight = Flight {
            result: receiver.clone(),
            since: Instant::now(),
        };
        in_progress.insert(key.clone(), flight);
        let guard = RemoveOnDrop {
            in_progress: self.in_progress.clone(),
            key,
        };
        let work = work();
        tasks.spawn(async move {
            let result = work.await;
            drop(guard);
            sender.send_replace(Some(result));
        });
        receiver
    }
}

/// Removes the entry when the work ends, also if its task is cancelled.
struct RemoveOnDrop<K: Hash + Eq, V> {
    in_progress: Arc<Mutex<HashMap<K, Flight<V>>>>,
    key: K,
}

impl<K: Hash + Eq, V> Drop for RemoveOnDrop<K, V> {
    fn drop(&mut self) {
        lock(&self.in_progress).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Barrier;

    #[tokio::test]
    async fn r_disc_11_a_thousand_askers_share_one_flight() {
        let (flights, tasks) = (Arc::new(SingleFlight::new()), Tasks::new());
        let runs = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Barrier::new(2));
        let callers: Vec<_> = (0..1000)
            .map(|_| {
                let (flights, tasks, runs, gate) =
                    (flights.clone(), tasks.clone(), runs.clone(), gate.clone());
                tokio::spawn(async move {
                    flights
                        .join(&tasks, "key", || async move {
                            gate.wait().await;
                            runs.fetch_add(1, Ordering::SeqCst)
                        })
                        .await
                })
            })
            .collect();
        tokio::task::yield_now().await;
        gate.wait().await;
        for caller in callers {
            assert_eq!(caller.await.unwrap(), Some(0));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn closing_gives_every_asker_an_answer() {
        let (flights, tasks) = (SingleFlight::<_, ()>::new(), Tasks::new());
        let asked = flights.join(&tasks, 1, std::future::pending);
        let closed = async {
            tokio::task::yield_now().await;
            tasks.close().await;
        };
        let (answer, ()) = tokio::join!(asked, closed);
        assert_eq!(answer, None);
    }
}
