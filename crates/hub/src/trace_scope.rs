//! What everything that one request sets in motion has in common.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pegboard_model::{SpanContext, TraceId};

use crate::events::new_trace;
use crate::hub::Inner;

/// Whose trace the spans belong to that nobody waits for.
const BACKGROUND: &str = "background";

/// The id of a trace and, where the caller or we make spans, the span that the next one lies below.
#[derive(Clone)]
pub(crate) struct TraceScope {
    id: TraceId,
    above: Option<SpanContext>,
    batch: Option<Arc<Batch>>,
}

/// Discoveries that start together. One event reports all of them.
struct Batch {
    servers: usize,
    is_reported: AtomicBool,
}

impl TraceScope {
    /// A trace of its own.
    pub(crate) fn new() -> Self {
        Self::below(None)
    }

    /// The trace of whoever asks, or one of its own.
    pub(crate) fn below(above: Option<&SpanContext>) -> Self {
        Self {
            id: above.map_or_else(new_trace, SpanContext::trace_id),
            above: above.cloned(),
            batch: None,
        }
    }

    /// The same trace for a batch of discoveries.
    pub(crate) fn for_batch(self, servers: usize) -> Self {
        let is_reported = AtomicBool::new(false);
        Self {
            batch: Some(Arc::new(Batch {
                servers,
                is_reported,
            })),
            ..self
        }
    }

    /// How many servers `tools.discovery.started` reports when a discovery starts: those of its batch, and
    /// `None` once an earlier discovery of the batch has reported them.
    pub(crate) fn take_started(&self) -> Option<usize> {
        match &self.batch {
            None => Some(1),
            Some(batch) => {
                let is_reported = batch.is_reported.swap(true, Ordering::Relaxed);
                // At least the one that starts: a discovery it was going to join may have ended since.
                (!is_reported).then_some(batch.servers.max(1))
            }
        }
    }

    /// The same trace below a span of ours; without one it stays where it is.
    pub(crate) fn under(self, span: Option<&SpanContext>) -> Self {
        match span {
            Some(span) => Self {
                above: Some(span.clone()),
                ..self
            },
            None => self,
        }
    }

    pub(crate) fn above(&self) -> Option<&SpanContext> {
        self.above.as_ref()
    }

    /// The id alone.
    pub(crate) fn into_id(self) -> TraceId {
        self.id
    }
}

impl Deref for TraceScope {
    type Target = TraceId;

    fn deref(&self) -> &TraceId {
        &self.id
    }
}

impl Inner {
    /// Opens a span on a trail, where spans are made. A trace that begins with it is called `name`.
    pub(crate) fn begin(&self, trace_scope: &TraceScope, name: &str) -> Option<SpanContext> {
        let span = self.recorder.begin(trace_scope.above(), trace_scope)?;
        Some(span.with_labels(name, BACKGROUND))
    }
}
