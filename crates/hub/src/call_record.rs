//! What is recorded of a call that is dropped before its end.

use pegboard_model::{Activity, ActivityKind, EventKind, Reason};
use tokio::time::Instant;

use crate::CallRequest;
use crate::events::millis;
use crate::hub::Inner;
use crate::trace_scope::TraceScope;

/// A call under way. One that is dropped before it is over, because its client took it back or the program ends, is
/// recorded as cancelled.
pub(crate) struct OpenCall<'a> {
    inner: &'a Inner,
    request: &'a CallRequest,
    trace: TraceScope,
    started: Instant,
    is_over: bool,
}

impl<'a> OpenCall<'a> {
    pub(crate) fn new(inner: &'a Inner, request: &'a CallRequest, trace: &TraceScope) -> Self {
        Self {
            inner,
            request,
            trace: trace.clone(),
            started: Instant::now(),
            is_over: false,
        }
    }

    /// The call has ended, and is recorded by its caller.
    pub(crate) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let catalog = self.inner.catalog.load_full();
        let view = catalog.find(&self.request.tool).ok();
        let tool = view
            .as_ref()
            .map_or("unknown", |view| view.exposed().as_str());
        let outcome = Reason::Cancelled.code();
        let duration_ms = millis(self.started.elapsed());
        let event = || EventKind::CallFinished {
            tool: tool.to_owned(),
            outcome: outcome.to_owned(),
            duration_ms,
        };
        self.inner.events.emit_call(&self.trace, event);
        self.inner.activity.record(Activity {
            session: Some(self.request.session.0.clone()),
            tool: Some(tool.to_owned()),
            server: view.as_ref().and_then(|view| view.server().cloned()),
            duration_ms: Some(duration_ms),
            trace: Some(*self.trace),
            ..Activity::new(self.inner.clock.now(), ActivityKind::Call, outcome)
        });
    }
}
