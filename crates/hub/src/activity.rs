//! The log of what was done. Nothing is written where it happens: lines go into a bounded queue, and are
//! written together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{Activity, ActivityKind, EventKind, Limits, Timestamp, ToolResult, TraceId};
use pegboard_store::Ledger;
use tokio::sync::mpsc;

use crate::hub::Hub;
use crate::seat::lock;
use crate::tasks::Tasks;

/// How long lines are gathered before they are written: while somebody calls all the time, the writer wakes
/// four times a second and not for every call.
const GATHERING: Duration = Duration::from_millis(250);
/// Lines that one question gives at the most.
const MOST_LINES: usize = 1_000;

pub(crate) struct ActivityLog {
    queue: mpsc::Sender<Activity>,
    /// Taken by the writer, which the first line starts.
    queued: Mutex<Option<mpsc::Receiver<Activity>>>,
    is_started: AtomicBool,
    dropped: AtomicU64,
    ledger: Arc<dyn Ledger>,
    tasks: Tasks,
    most_rows: usize,
}

impl ActivityLog {
    pub(crate) fn new(ledger: Arc<dyn Ledger>, tasks: Tasks, limits: &Limits) -> Self {
        let (queue, queued) = mpsc::channel(limits.activity_queue.max(1));
        Self {
            queue,
            queued: Mutex::new(Some(queued)),
            is_started: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            ledger,
            tasks,
            most_rows: limits.activity_rows,
        }
    }

    /// Notes a line. It never waits; a line that finds the queue full is dropped and counted.
    pub(crate) fn record(&self, line: Activity) {
        if self.queue.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        if !self.is_started.load(Ordering::Relaxed) {
            self.start();
        }
    }

    /// Notes what an event tells, where it is worth a line.
    pub(crate) fn record_event(&self, at: Timestamp, trace: &TraceId, kind: &EventKind) {
        let (server, outcome, duration_ms) = match kind {
            EventKind::ServerDiscovered {
                server,
                duration_ms,
                ..
            } => (server, "ok", Some(*duration_ms)),
            EventKind::ServerFailed { server, reason, .. } => (server, reason.as_str(), None),
            _ => return,
        };
        self.record(Activity {
            server: Some(server.clone()),
            duration_ms,
            trace: Some(trace.clone()),
            ..Activity::new(at, ActivityKind::Discovery, outcome)
        });
    }

    fn start(&self) {
        // Without a runtime the lines wait for one.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let Some(queued) = lock(&self.queued).take() else {
            return;
        };
        self.is_started.store(true, Ordering::Relaxed);
        let (ledger, tasks, most) = (self.ledger.clone(), self.tasks.clone(), self.most_rows);
        let closing = tasks.clone();
        tasks.spawn_to_end(async move { write(queued, &*ledger, &closing, most).await });
    }
}

async fn write(
    mut queued: mpsc::Receiver<Activity>,
    ledger: &dyn Ledger,
    tasks: &Tasks,
    most: usize,
) {
    let mut is_closing = false;
    while !is_closing {
        let mut lines = Vec::new();
        tokio::select! {
            biased;
            () = tasks.closing() => is_closing = true,
            line = queued.recv() => match line {
                Some(line) => lines.push(line),
                None => return,
            },
        }
        if !is_closing {
            tokio::select! {
                () = tasks.closing() => is_closing = true,
                () = tokio::time::sleep(GATHERING) => {}
            }
        }
        while let Ok(line) = queued.try_recv() {
            lines.push(line);
        }
        if lines.is_empty() {
            continue;
        }
        if let Err(error) = ledger.note(lines, most).await {
            tracing::debug!(target: "pegboard", %error, "activity could not be kept");
        }
    }
}

impl Hub {
    /// Makes the log ready beside other work, for somebody who is about to do one thing and end.
    pub fn prepare_activity(&self) {
        let ledger = self.inner.ledger.clone();
        tokio::spawn(async move { ledger.prepare().await });
    }

    /// What was done, the newest first; `before` is the id of the last line of the page before. Calls, discoveries,
    /// answers of people and changes of the configuration, of all processes that share the store.
    pub async fn activity(&self, limit: usize, before: Option<u64>) -> ToolResult<Vec<Activity>> {
        let limit = limit.min(MOST_LINES);
        self.inner.ledger.activity(limit, before).await
    }

    /// How many lines of activity were lost because they came faster than they could be written.
    pub fn activity_dropped(&self) -> u64 {
        self.inner.activity.dropped.load(Ordering::Relaxed)
    }

    /// Notes something that was done through this hub by whoever embeds it, for example a change of the
    /// configuration by the API. It never waits.
    pub fn record_activity(&self, line: Activity) {
        self.inner.activity.record(line);
    }
}
