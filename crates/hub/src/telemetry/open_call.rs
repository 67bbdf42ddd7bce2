//! Recording of calls that are dropped before they finish.

use pegboard_model::Reason;
use tokio::time::Instant;

use super::{FinishedRequest, TraceScope};
use crate::CallRequest;
use crate::hub::Inner;

/// A call in progress. If it is dropped before [`OpenCall::end`], because the client cancelled it or the program ends, it
/// is recorded as cancelled.
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

    /// The call finished and is recorded by its caller.
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
        let cancelled = FinishedRequest {
            session: &self.request.session,
            name: view
                .as_ref()
                .map_or("unknown", |view| view.exposed().as_str()),
            server: view.as_ref().and_then(|view| view.server()),
            outcome: Reason::Cancelled.code(),
            took: self.started.elapsed(),
        };
        self.inner.telemetry.call_finished(&self.trace, cancelled);
    }
}
