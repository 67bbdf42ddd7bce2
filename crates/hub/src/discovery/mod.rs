//! Discovery: when servers are contacted for their tools, and how many at once.

mod background;
mod discover;
mod discover_missing;
mod fetch;
mod freshness;
mod learning;
mod login_watch;
mod offers;
mod records;
mod refresh;
mod retry;
mod session_resources;
mod single_flight;
mod start_pacer;
mod start_queue;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pegboard_model::{ConfigHash, ServerName, ServerRecord, ServerSpec, ToolError};
use pegboard_upstream::Connect;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

pub(crate) use self::fetch::timed_out;
pub use self::freshness::{Freshness, freshness, time_to_live};
pub use self::refresh::{
    DiscoverySource, PendingDiscoveries, RefreshOutcome, RefreshScope, Refreshed,
};
pub(crate) use self::refresh::{may_start, shutting_down};
pub(crate) use self::session_resources::SessionResources;
use self::single_flight::SingleFlight;
pub use self::start_queue::StartProgress;
use self::start_queue::StartQueue;
use crate::tasks::Tasks;

/// How many received lists are checked concurrently; each check takes a thread.
const CONCURRENT_ADMISSIONS: usize = 2;

/// Whether a discovery respects the backoff after failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backoff {
    /// Refuse while the server is in its backoff.
    Respect,
    /// Ignore the backoff, because a person or a call needs this server.
    Ignore,
}

/// The result of a discovery, ready to be published.
pub(crate) struct FinishedDiscovery {
    pub(crate) record: Arc<ServerRecord>,
    /// The record under the server's previous definition, if nothing is known under the current one.
    pub(crate) former: Option<ServerRecord>,
    pub(crate) error: Option<ToolError>,
    pub(crate) source: DiscoverySource,
    pub(crate) took: Duration,
}

/// Schedules discoveries: one per server at a time, and a bounded number at once.
pub(crate) struct DiscoveryScheduler {
    in_progress: SingleFlight<(ServerName, ConfigHash), Arc<RefreshOutcome>>,
    permits: Arc<Semaphore>,
    starts: Arc<StartQueue>,
    admissions: Semaphore,
    /// Whether tools were requested since the start.
    is_needed: AtomicBool,
    /// Whether a session was opened before the catalog was loaded.
    has_deferred_session: AtomicBool,
    /// Whether a task waits for logins.
    is_watching_logins: AtomicBool,
}

impl DiscoveryScheduler {
    pub(crate) fn new(connector: Arc<dyn Connect>, concurrent: usize) -> Self {
        let concurrent = concurrent.max(1);
        Self {
            in_progress: SingleFlight::new(),
            permits: Arc::new(Semaphore::new(concurrent)),
            starts: StartQueue::new(connector, concurrent),
            admissions: Semaphore::new(CONCURRENT_ADMISSIONS),
            is_needed: AtomicBool::new(false),
            has_deferred_session: AtomicBool::new(false),
            is_watching_logins: AtomicBool::new(false),
        }
    }

    /// Joins the discovery of this server that is in progress, or starts `work`. Returns `None` if it was cancelled.
    async fn join<F>(
        &self,
        tasks: &Tasks,
        spec: &ServerSpec,
        work: impl FnOnce() -> F,
    ) -> Option<Arc<RefreshOutcome>>
    where
        F: Future<Output = Arc<RefreshOutcome>> + Send + 'static,
    {
        self.in_progress.join(tasks, key(spec), work).await
    }

    /// Waits until the discovery of this server that is in progress, if any, has finished.
    pub(crate) async fn wait(&self, spec: &ServerSpec) {
        self.in_progress.wait(&key(spec)).await;
    }

    /// How long the discovery of this server has been in progress.
    fn age(&self, spec: &ServerSpec) -> Option<Duration> {
        self.in_progress.age(&key(spec))
    }

    /// Waits for a discovery permit. The flag says whether there was none at first.
    async fn acquire(&self) -> (Option<OwnedSemaphorePermit>, bool) {
        match self.permits.clone().try_acquire_owned() {
            Ok(permit) => (Some(permit), false),
            Err(_) => (self.permits.clone().acquire_owned().await.ok(), true),
        }
    }

    /// Waits until a received list may be checked.
    async fn admit(&self) -> Option<SemaphorePermit<'_>> {
        self.admissions.acquire().await.ok()
    }

    fn starts(&self) -> &Arc<StartQueue> {
        &self.starts
    }

    fn mark_needed(&self) {
        self.is_needed.store(true, Ordering::Relaxed);
    }

    fn is_needed(&self) -> bool {
        self.is_needed.load(Ordering::Relaxed)
    }

    /// Returns whether the caller is the first that watches logins.
    fn begin_watching_logins(&self) -> bool {
        !self.is_watching_logins.swap(true, Ordering::Relaxed)
    }

    fn defer_session(&self) {
        self.has_deferred_session.store(true, Ordering::Release);
    }

    /// Returns whether a session was deferred, and clears that.
    fn take_deferred_session(&self) -> bool {
        self.has_deferred_session.swap(false, Ordering::AcqRel)
    }
}

fn key(spec: &ServerSpec) -> (ServerName, ConfigHash) {
    (spec.name.clone(), spec.hash)
}
