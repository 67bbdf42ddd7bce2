//! The same work asked twice is done once.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::tasks::Tasks;

type FlightResult<V> = watch::Receiver<Option<V>>;

/// Work under way.
struct Flight<V> {
    landing: FlightResult<V>,
    since: Instant,
}

/// Work in progress by key. The work runs as a task of its own, so an asker that goes away does not
/// take it away from the others.
pub(crate) struct SingleFlight<K, V> {
    under_way: Arc<Mutex<HashMap<K, Flight<V>>>>,
}

impl<K, V> SingleFlight<K, V>
where
    K: Hash + Eq + Clone + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    pub(crate) fn new() -> Self {
        Self {
            under_way: Arc::default(),
        }
    }

    /// Joins the work under this key, or starts it. `None` when it was given up before its end.
    pub(crate) async fn join<F>(&self, tasks: &Tasks, key: K, work: impl FnOnce() -> F) -> Option<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut landing = self.board(tasks, key, work);
        let landed = landing.wait_for(Option::is_some).await.ok()?;
        landed.clone()
    }

    /// Waits until the work that is under way with this key now, if any, is over.
    pub(crate) async fn landed(&self, key: &K) {
        let present = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .map(|flight| flight.landing.clone());
        if let Some(mut landing) = present {
            // An error means that it was given up, which is an end as well.
            let _ = landing.wait_for(Option::is_some).await;
        }
    }

    /// How long the work under this key has been under way, if it is.
    pub(crate) fn age(&self, key: &K) -> Option<Duration> {
        let under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        under_way.get(key).map(|flight| flight.since.elapsed())
    }

    fn board<F>(&self, tasks: &Tasks, key: K, work: impl FnOnce() -> F) -> FlightResult<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        let mut under_way = self
            .under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = under_way.get(&key) {
            return flight.landing.clone();
        }
        let (sender, landing) = watch::channel(None);
        let flight = Flight {
            landing: landing.clone(),
            since: Instant::now(),
        };
        under_way.insert(key.clone(), flight);
        let leave = RemoveOnDrop {
            under_way: self.under_way.clone(),
            key,
        };
        let work = work();
        tasks.spawn(async move {
            let result = work.await;
            drop(leave);
            sender.send_replace(Some(result));
        });
        landing
    }
}

/// Takes the flight off the board also when its task is cancelled.
struct RemoveOnDrop<K: Hash + Eq, V> {
    under_way: Arc<Mutex<HashMap<K, Flight<V>>>>,
    key: K,
}

impl<K: Hash + Eq, V> Drop for RemoveOnDrop<K, V> {
    fn drop(&mut self) {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::Barrier;

    #[tokio::test]
    async fn r_disc_11_a_thousand_askers_share_one_flight() {
        let (discoveries_in_progress, tasks) = (Arc::new(SingleFlight::new()), Tasks::new());
        let runs = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Barrier::new(2));
        let askers: Vec<_> = (0..1000)
            .map(|_| {
                let (discoveries_in_progress, tasks, runs, gate) = (
                    discoveries_in_progress.clone(),
                    tasks.clone(),
                    runs.clone(),
                    gate.clone(),
                );
                tokio::spawn(async move {
                    discoveries_in_progress
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
        for asker in askers {
            assert_eq!(asker.await.unwrap(), Some(0));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn closing_gives_every_asker_an_answer() {
        let (discoveries_in_progress, tasks) = (SingleFlight::<_, ()>::new(), Tasks::new());
        let asked = discoveries_in_progress.join(&tasks, 1, std::future::pending);
        let closed = async {
            tokio::task::yield_now().await;
            tasks.close().await;
        };
        let (answer, ()) = tokio::join!(asked, closed);
        assert_eq!(answer, None);
    }
}
