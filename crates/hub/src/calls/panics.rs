//! Panic isolation: a panic fails only the request it happens in. Pegboard's own code does not panic, but a tool
//! handler of the host program may.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pegboard_model::{Reason, ServerSpec, ToolError, TraceId};

use crate::discovery::FinishedDiscovery;
use crate::discovery::{DiscoverySource, RefreshOutcome};
use crate::hub::Inner;

/// The error for work that panicked. The panic's text may contain anything, so it is not repeated.
pub(super) fn panicked(what: &str) -> ToolError {
    ToolError::new(Reason::Internal, format!("{what} panicked"))
}

impl Inner {
    /// Runs a discovery. A panic counts as a failed discovery.
    pub(crate) async fn catch_discovery_panic(
        self: Arc<Self>,
        spec: Arc<ServerSpec>,
        trace: TraceId,
        work: impl Future<Output = Arc<RefreshOutcome>>,
    ) -> Arc<RefreshOutcome> {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(_) => {
                let what = format!("the discovery of server `{}`", spec.name);
                let error = panicked(&what).at_server(&spec.name);
                self.slots
                    .get_or_create(&spec.name)
                    .record_failure(&spec.hash, &error);
                let record = self.failure_record(&self.known_record(&spec), &error);
                let finished = FinishedDiscovery {
                    record: Arc::new(record),
                    former: None,
                    error: Some(error),
                    source: DiscoverySource::Discovered,
                    took: Duration::ZERO,
                };
                Arc::new(self.finish_discovery(&spec, finished, &trace))
            }
        }
    }
}
