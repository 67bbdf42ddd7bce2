//! Telling what happened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pegboard_model::{Clock, Event, EventKind, Reason, Recorder, ToolResult, TraceId};
use pegboard_upstream::CallOutcome;
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::activity::ActivityLog;

/// Events that a slow listener may fall behind before it loses the oldest.
const LISTENER_BACKLOG: usize = 256;

/// Calls are told apart from everything else: they are many, and waking somebody for each who does not care
/// costs more than the call's own bookkeeping.
pub(crate) struct Events {
    clock: Arc<dyn Clock>,
    servers: broadcast::Sender<Event>,
    activity: Arc<ActivityLog>,
    recorder: Arc<dyn Recorder>,
    /// Made when somebody first listens.
    calls: OnceLock<broadcast::Sender<Event>>,
}

impl Events {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        activity: Arc<ActivityLog>,
        recorder: Arc<dyn Recorder>,
    ) -> Self {
        Self {
            clock,
            activity,
            recorder,
            servers: broadcast::Sender::new(LISTENER_BACKLOG),
            calls: OnceLock::new(),
        }
    }

    /// Tells of a call; nothing is made of it when nobody listens.
    pub(crate) fn emit_call(&self, trace: &TraceId, kind: impl FnOnce() -> EventKind) {
        let logged = tracing::enabled!(target: "pegboard", tracing::Level::DEBUG);
        let calls = self.calls.get().filter(|calls| calls.receiver_count() > 0);
        if logged || calls.is_some() {
            self.send(calls, trace, kind());
        }
    }

    /// Tells what happened to servers and their tools.
    pub(crate) fn emit(&self, trace: &TraceId, kind: EventKind) {
        self.emit_with_changes(trace, kind, None);
    }

    /// Reports a discovery; the activity also says what it changed.
    pub(crate) fn emit_with_changes(
        &self,
        trace: &TraceId,
        kind: EventKind,
        changes: Option<String>,
    ) {
        let now = self.clock.now();
        self.activity.record_event(now, trace, &kind, changes);
        self.send(Some(&self.servers), trace, kind);
    }

    fn send(&self, to: Option<&broadcast::Sender<Event>>, trace: &TraceId, kind: EventKind) {
        let event = Event::new(self.clock.now(), *trace, kind);
        self.recorder.event(&event);
        // Nobody listening is no fault.
        let _ = to.map(|to| to.send(event));
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.servers.subscribe()
    }

    pub(crate) fn subscribe_calls(&self) -> broadcast::Receiver<Event> {
        let calls = self
            .calls
            .get_or_init(|| broadcast::Sender::new(LISTENER_BACKLOG));
        calls.subscribe()
    }
}

/// A new trace id: random bytes of this process, and a count from a random start. Asking the system for
/// randomness on every call would cost more than the rest of the bookkeeping. Without randomness the process's
/// number stands in, so that no id is all zeros, which W3C trace context reads as "no trace".
pub fn new_trace() -> TraceId {
    static SEED: OnceLock<(u64, AtomicU64)> = OnceLock::new();
    let (process, count) = SEED.get_or_init(|| {
        let mut bytes = [0; 16];
        let _ = getrandom::fill(&mut bytes);
        let random = u128::from_be_bytes(bytes);
        let (high, low) = ((random >> 64) as u64, random as u64);
        let process = high ^ u64::from(std::process::id());
        (process.max(1), AtomicU64::new(low))
    });
    let count = count.fetch_add(1, Ordering::Relaxed);
    TraceId::from_bytes((u128::from(*process) << 64 | u128::from(count)).to_be_bytes())
}

/// What a result is called in an event.
pub(crate) fn outcome_of(result: &ToolResult<CallOutcome>) -> &'static str {
    match result {
        Ok(outcome) if outcome.is_error => Reason::ToolFailed.code(),
        Ok(_) => "ok",
        Err(error) => error.reason.code(),
    }
}

pub(crate) fn elapsed_ms(since: Instant) -> u64 {
    millis(since.elapsed())
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;
    use std::collections::HashSet;

    #[test]
    fn an_event_that_nobody_hears_is_not_even_made() {
        let ledger = Arc::new(pegboard_store::MemoryLedger::new());
        let limits = pegboard_model::Limits::default();
        let activity = ActivityLog::new(ledger, crate::tasks::Tasks::new(), &limits);
        let silent = Arc::new(pegboard_model::NoopRecorder);
        let events = Events::new(Arc::new(SystemClock), Arc::new(activity), silent);
        let mut made = 0;
        let mut emit = || {
            events.emit_call(&new_trace(), || {
                made += 1;
                EventKind::ConfigReloaded { servers: 1 }
            });
        };
        emit();
        let mut heard = events.subscribe_calls();
        emit();
        assert_eq!(made, 1);
        let kind = heard.try_recv().unwrap().kind;
        assert_eq!(kind, EventKind::ConfigReloaded { servers: 1 });
    }

    #[test]
    fn trace_ids_of_many_threads_are_all_different() {
        let ids = || (0..1000).map(|_| new_trace()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(ids)).collect();
        let all: HashSet<TraceId> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(all.len(), 8000);
        assert!(all.iter().all(|id| id.as_str().len() == 32));
        assert!(
            !all.iter()
                .any(|id| id.as_str().starts_with("0000000000000000"))
        );
    }
}
