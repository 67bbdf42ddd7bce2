//! Reporting: events for subscribers, facts for the recorder, and lines for the activity log.

mod activity;
mod counters;
mod open_call;
mod trace_scope;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pegboard_model::{
    Activity, ActivityKind, Clock, Event, EventKind, Limits, Reason, Recorder, ServerName,
    ServerSpec, SpanContext, ToolResult, TraceId, Transport, TransportKind,
};
use pegboard_store::Ledger;
use pegboard_upstream::CallOutcome;
use tokio::sync::broadcast;

use self::activity::ActivityLog;
use self::counters::Counters;
pub(crate) use self::open_call::OpenCall;
pub(crate) use self::trace_scope::TraceScope;
pub use self::trace_scope::new_trace;
use crate::calls::SessionId;
use crate::tasks::Tasks;

/// Events that a slow subscriber may lag behind before it loses the oldest.
const SUBSCRIBER_BACKLOG: usize = 256;
/// The session name in spans of background work.
const BACKGROUND: &str = "background";

/// Reports what the hub does. Calls have a channel of their own: they are frequent, and waking subscribers that ignore
/// them costs more than the rest of a call's bookkeeping.
pub(crate) struct Telemetry {
    clock: Arc<dyn Clock>,
    recorder: Arc<dyn Recorder>,
    servers: broadcast::Sender<Event>,
    /// Created by the first subscriber.
    calls: OnceLock<broadcast::Sender<Event>>,
    activity: ActivityLog,
    counters: Counters,
}

impl Telemetry {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        recorder: Arc<dyn Recorder>,
        ledger: Arc<dyn Ledger>,
        tasks: Tasks,
        limits: &Limits,
    ) -> Self {
        Self {
            clock,
            recorder,
            servers: broadcast::Sender::new(SUBSCRIBER_BACKLOG),
            calls: OnceLock::new(),
            activity: ActivityLog::new(ledger, tasks, limits),
            counters: Counters::default(),
        }
    }

    pub(crate) fn recorder(&self) -> &Arc<dyn Recorder> {
        &self.recorder
    }

    /// Begins a span, if spans are recorded. A trace that begins with it is named `name`.
    pub(crate) fn begin(&self, scope: &TraceScope, name: &str) -> Option<SpanContext> {
        let span = self.recorder.begin(scope.above(), scope)?;
        Some(span.with_labels(name, BACKGROUND))
    }

    /// Emits an event about servers and their tools.
    pub(crate) fn emit(&self, trace: &TraceId, kind: EventKind) {
        self.emit_with_changes(trace, kind, None);
    }

    /// Emits an event about a discovery. `changes` goes into the activity log.
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

    /// Reports a finished call.
    pub(crate) fn call_finished(&self, trace: &TraceId, call: FinishedRequest<'_>) {
        self.emit_call(trace, || EventKind::CallFinished {
            tool: call.name.to_owned(),
            outcome: call.outcome.to_owned(),
            duration_ms: millis(call.took),
        });
        self.record_request(trace, ActivityKind::Call, call);
    }

    /// Reports a finished forwarded request.
    pub(crate) fn forward_finished(
        &self,
        trace: &TraceId,
        server: &ServerName,
        request: FinishedRequest<'_>,
    ) {
        self.emit_call(trace, || EventKind::RequestFinished {
            server: server.clone(),
            method: request.name.to_owned(),
            outcome: request.outcome.to_owned(),
            duration_ms: millis(request.took),
        });
        self.record_request(trace, ActivityKind::Request, request);
    }

    /// Adds a line to the activity log, with the current time. Never waits.
    pub(crate) fn record(
        &self,
        kind: ActivityKind,
        outcome: &str,
        line: impl FnOnce(&mut Activity),
    ) {
        let mut activity = Activity::new(self.clock.now(), kind, outcome.to_owned());
        line(&mut activity);
        self.activity.record(activity);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Event> {
        self.servers.subscribe()
    }

    pub(crate) fn subscribe_calls(&self) -> broadcast::Receiver<Event> {
        let calls = self
            .calls
            .get_or_init(|| broadcast::Sender::new(SUBSCRIBER_BACKLOG));
        calls.subscribe()
    }

    /// Emits an event about a call. Without subscribers the event is not even built.
    fn emit_call(&self, trace: &TraceId, kind: impl FnOnce() -> EventKind) {
        let logged = tracing::enabled!(target: "pegboard", tracing::Level::DEBUG);
        let calls = self.calls.get().filter(|calls| calls.receiver_count() > 0);
        if logged || calls.is_some() {
            self.send(calls, trace, kind());
        }
    }

    fn record_request(&self, trace: &TraceId, kind: ActivityKind, request: FinishedRequest<'_>) {
        self.record(kind, request.outcome, |line| {
            line.session = Some(request.session.0.clone());
            line.client = request.client.map(str::to_owned);
            line.tool = Some(request.name.to_owned());
            line.server = request.server.cloned();
            line.duration_ms = Some(millis(request.took));
            line.trace = Some(*trace);
        });
    }

    fn send(&self, to: Option<&broadcast::Sender<Event>>, trace: &TraceId, kind: EventKind) {
        let event = Event::new(self.clock.now(), *trace, kind);
        self.recorder.event(&event);
        // An error means that there are no subscribers.
        let _ = to.map(|to| to.send(event));
    }
}

/// A call or forwarded request that is over.
pub(crate) struct FinishedRequest<'a> {
    pub(crate) session: &'a SessionId,
    /// The client's name and version, if known.
    pub(crate) client: Option<&'a str>,
    /// The tool's exposed name, or the method of a forwarded request.
    pub(crate) name: &'a str,
    pub(crate) server: Option<&'a ServerName>,
    pub(crate) outcome: &'a str,
    pub(crate) took: Duration,
}

/// The outcome of a call as events name it.
pub(crate) fn outcome_of(result: &ToolResult<CallOutcome>) -> &'static str {
    match result {
        Ok(outcome) if outcome.is_error => Reason::ToolFailed.code(),
        Ok(_) => "ok",
        Err(error) => error.reason.code(),
    }
}

/// The transport of a server, for telemetry.
pub(crate) fn transport_kind(spec: &ServerSpec) -> TransportKind {
    match spec.transport {
        Transport::Stdio { .. } => TransportKind::Stdio,
        Transport::Http { .. } => TransportKind::Http,
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;

    #[test]
    fn an_event_without_subscribers_is_not_built() {
        let ledger = Arc::new(pegboard_store::MemoryLedger::new());
        let recorder = Arc::new(pegboard_model::NoopRecorder);
        let limits = Limits::default();
        let telemetry = Telemetry::new(
            Arc::new(SystemClock),
            recorder,
            ledger,
            Tasks::new(),
            &limits,
        );
        let mut built = 0;
        let mut emit = || {
            telemetry.emit_call(&new_trace(), || {
                built += 1;
                EventKind::ConfigReloaded { servers: 1 }
            });
        };
        emit();
        let mut events = telemetry.subscribe_calls();
        emit();
        assert_eq!(built, 1);
        let kind = events.try_recv().unwrap().kind;
        assert_eq!(kind, EventKind::ConfigReloaded { servers: 1 });
    }
}
