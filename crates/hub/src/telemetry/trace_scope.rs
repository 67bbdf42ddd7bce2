//! The trace context that everything caused by one request shares.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use pegboard_model::{SpanContext, TraceId};

/// A trace id and the parent of the next span, if there is one.
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
    /// Creates a new trace.
    pub(crate) fn new() -> Self {
        Self::below(None)
    }

    /// Continues the trace of a span, or creates a new one.
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

    /// Returns how many servers `tools.discovery.started` reports when a discovery starts: those of its batch, or
    /// `None` if an earlier discovery of the batch has reported them.
    pub(crate) fn take_started(&self) -> Option<usize> {
        match &self.batch {
            None => Some(1),
            Some(batch) => {
                let is_reported = batch.is_reported.swap(true, Ordering::Relaxed);
                // At least one: a discovery that the batch expected to join may have ended since.
                (!is_reported).then_some(batch.servers.max(1))
            }
        }
    }

    /// The same trace below this span, if there is one.
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
}

impl Deref for TraceScope {
    type Target = TraceId;

    fn deref(&self) -> &TraceId {
        &self.id
    }
}

/// Creates a trace id from random bytes of this process and a counter with a random start. Reading system randomness
/// for every call would cost more than the rest of its bookkeeping. Without randomness the process id is used, so
/// that no id is all zeros, which W3C trace context reserves for "no trace".
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

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
