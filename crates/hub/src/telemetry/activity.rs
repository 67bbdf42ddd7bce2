//! The activity log. Lines go into a bounded queue and are written in batches, so recording never waits for the disk.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{Activity, ActivityKind, EventKind, Limits, Timestamp, ToolResult, TraceId};
use pegboard_store::Ledger;
use tokio::sync::Notify;

use crate::hub::Hub;
use crate::sync::lock;
use crate::tasks::Tasks;

/// How long lines are collected before they are written. Under constant load the writer wakes four times a second
/// instead of once per call.
const WRITE_INTERVAL: Duration = Duration::from_millis(250);
/// Upper bound for the lines of one page.
const MAX_PAGE_LINES: usize = 1_000;

pub(super) struct ActivityLog {
    queue: Arc<Queue>,
    /// Whether the writer task runs. The first line starts it.
    is_started: AtomicBool,
    dropped: AtomicU64,
    ledger: Arc<dyn Ledger>,
    tasks: Tasks,
    most_rows: usize,
}

/// Lines that wait to be written. A list that is swapped out as a whole: a channel costs more per line and allocates
/// in blocks.
struct Queue {
    lines: Mutex<Vec<Activity>>,
    most: usize,
    /// Notified of the first line of a list and of the end.
    filled: Notify,
    /// Whether the log was dropped, so that no line can follow.
    is_left: AtomicBool,
}

impl Queue {
    /// Adds a line. Returns `false` if the list is full.
    fn push(&self, line: Activity) -> bool {
        let mut lines = lock(&self.lines);
        if lines.len() >= self.most {
            return false;
        }
        lines.push(line);
        if lines.len() == 1 {
            self.filled.notify_one();
        }
        true
    }

    fn take(&self) -> Vec<Activity> {
        std::mem::take(&mut *lock(&self.lines))
    }
}

impl ActivityLog {
    pub(super) fn new(ledger: Arc<dyn Ledger>, tasks: Tasks, limits: &Limits) -> Self {
        let queue = Queue {
            lines: Mutex::default(),
            most: limits.activity_queue.max(1),
            filled: Notify::new(),
            is_left: AtomicBool::new(false),
        };
        Self {
            queue: Arc::new(queue),
            is_started: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            ledger,
            tasks,
            most_rows: limits.activity_rows,
        }
    }

    /// Records a line without waiting. If the queue is full, the line is dropped and counted.
    pub(super) fn record(&self, line: Activity) {
        if !self.queue.push(line) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        if !self.is_started.load(Ordering::Relaxed) {
            self.start();
        }
    }

    /// Records an event that belongs in the activity log. `changes` summarizes how the tools of an already known
    /// server changed.
    pub(super) fn record_event(
        &self,
        at: Timestamp,
        trace: &TraceId,
        kind: &EventKind,
        changes: Option<String>,
    ) {
        let (server, outcome, duration_ms) = match kind {
            EventKind::ServerDiscovered {
                server,
                duration_ms,
                ..
            } => {
                let outcome = if changes.is_some() { "changed" } else { "ok" };
                (server, outcome, Some(*duration_ms))
            }
            EventKind::ServerFailed { server, reason, .. }
            | EventKind::ServerNotStored { server, reason, .. } => (server, reason.as_str(), None),
            _ => return,
        };
        self.record(Activity {
            server: Some(server.clone()),
            tool: changes,
            duration_ms,
            trace: Some(*trace),
            ..Activity::new(at, ActivityKind::Discovery, outcome.to_owned())
        });
    }

    fn start(&self) {
        // Without a runtime the lines stay queued until there is one.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        if self.is_started.swap(true, Ordering::Relaxed) {
            return;
        }
        let queue = self.queue.clone();
        let (ledger, tasks, most) = (self.ledger.clone(), self.tasks.clone(), self.most_rows);
        let closing = tasks.clone();
        tasks.spawn_to_end(async move { write(&queue, &*ledger, &closing, most).await });
    }
}

impl Drop for ActivityLog {
    fn drop(&mut self) {
        self.queue.is_left.store(true, Ordering::Release);
        self.queue.filled.notify_one();
    }
}

async fn write(queue: &Queue, ledger: &dyn Ledger, tasks: &Tasks, most: usize) {
    let (mut is_closing, mut is_last) = (false, false);
    while !is_last {
        tokio::select! {
            biased;
            () = tasks.closing() => is_closing = true,
            () = queue.filled.notified() => {}
        }
        if !is_closing {
            tokio::select! {
                () = tasks.closing() => is_closing = true,
                () = tokio::time::sleep(WRITE_INTERVAL) => {}
            }
        }
        // Read before the lines are taken, so that no line can be missed.
        is_last = is_closing || queue.is_left.load(Ordering::Acquire);
        let lines = queue.take();
        if lines.is_empty() {
            continue;
        }
        if let Err(error) = ledger.add_activity(lines, most).await {
            tracing::debug!(target: "pegboard", %error, "cannot store activity");
        }
    }
}

impl Hub {
    /// Opens the log in the background, for a command that makes one call and exits.
    pub fn prepare_activity(&self) {
        let ledger = self.inner.telemetry.activity.ledger.clone();
        tokio::spawn(async move { ledger.prepare().await });
    }

    /// Returns the newest activity of all processes that share the store: calls, discoveries, approvals and
    /// configuration changes. `before` is the id of the last line of the previous page.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub async fn activity(&self, limit: usize, before: Option<u64>) -> ToolResult<Vec<Activity>> {
        let limit = limit.min(MAX_PAGE_LINES);
        let log = &self.inner.telemetry.activity;
        log.ledger.activity(limit, before).await
    }

    /// Number of activity lines that were dropped because the queue was full.
    pub fn activity_dropped(&self) -> u64 {
        let log = &self.inner.telemetry.activity;
        log.dropped.load(Ordering::Relaxed)
    }

    /// Records an action of the embedding program, for example a configuration change through the API. Never waits.
    pub fn record_activity(&self, line: Activity) {
        self.inner.telemetry.activity.record(line);
    }
}

#[cfg(test)]
mod tests {
    use pegboard_store::MemoryLedger;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn recorded_activity_is_stored_though_the_hub_is_dropped() {
        let ledger = Arc::new(MemoryLedger::default());
        let log = ActivityLog::new(ledger.clone(), Tasks::new(), &Limits::default());
        log.record(Activity::new(Timestamp(7), ActivityKind::Call, "ok"));
        drop(log);
        let kept = async {
            while ledger.activity(10, None).await.unwrap().is_empty() {
                tokio::time::sleep(WRITE_INTERVAL).await;
            }
        };
        let kept = tokio::time::timeout(10 * WRITE_INTERVAL, kept).await;
        assert!(kept.is_ok(), "the line was lost");
    }
}
