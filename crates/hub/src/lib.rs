//! The core of Pegboard: owns the current catalog, decides when to discover servers, and routes calls.
//!
//! Invariant: reading is cloning an `Arc`; no read waits for a writer, a lock, a disk or a server.
//! Invariant: a grant covers one version of a tool; no other version runs because of it.
//! Invariant: every tool call passes [`Hub::call`], and every prompt and resource passes [`Hub::forward`] or
//! [`Hub::watch_resource`]; all of them pass one policy gate.
//! Invariant: at most one discovery per server runs at a time, also across processes that share a store.
//! Invariant: a failure of one server changes nothing but that server's entry.

mod approvals;
mod calls;
mod clock;
mod discovery;
mod health;
mod hub;
mod meaning;
mod policy;
mod pool;
mod publication;
mod reload;
mod review;
mod sessions;
mod slots;
mod sync;
mod tasks;
mod telemetry;

pub use approvals::{
    ApprovalPrompt, ApprovalSettings, Approver, InboxWatch, NoApprover, PromptResponse,
    readable_arguments,
};
pub use calls::{CallRequest, ForwardRequest, OfferRef, SessionId, ToolHandler, ToolTarget};
pub use clock::SystemClock;
pub use discovery::{
    DiscoverySource, Freshness, PendingDiscoveries, RefreshOutcome, RefreshScope, Refreshed,
    StartProgress, freshness, time_to_live,
};
pub use health::{RunState, ServerHealth};
pub use hub::{Hub, HubParts};
pub use meaning::{Encoder, EncoderInput, Finder, MeaningProgress};
pub use pool::{InstanceInfo, LeaseInfo, ServerPool, ViewContext};
pub use publication::{FirstSnapshot, LastDelta};
pub use reload::ConfigChange;
pub use review::{PendingReview, ReviewSubject};
pub use sessions::{ClientTransport, SessionHandle, SessionInfo};
pub use telemetry::new_trace;

pub use pegboard_catalog::ResolvedTool;
pub use pegboard_upstream::{
    Announcement, CallOutcome, Caller, ClientCapabilities, InputResponses, Listener, OutcomeKind,
};

use std::sync::Arc;
use std::time::Duration;

pub use pegboard_model::{RefreshOnStart, StaleRefresh};

use pegboard_model::{GlobalRules, ResultScan, ReviewMode};

/// The user's settings of the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSettings {
    /// Which servers are refreshed when a session starts.
    pub refresh_on_start: RefreshOnStart,
    /// What happens when a stale list is needed.
    pub stale_refresh: StaleRefresh,
    /// Upper bound for concurrent discoveries. The actual number adapts to the load of the machine.
    pub concurrent_discoveries: usize,
    /// How long a listing waits for undiscovered servers.
    pub answer_deadline: Duration,
    /// Whether searches that led to a successful call are remembered.
    pub remember_searches: bool,
    /// How approvals are requested.
    pub asking: ApprovalSettings,
    /// Which definitions are held back until a person reviews them.
    pub review: ReviewMode,
    /// What happens to suspicious results.
    pub result_scan: ResultScan,
    /// The policy rules for the tools of all servers and of the host program.
    pub rules: Arc<GlobalRules>,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            refresh_on_start: RefreshOnStart::Unknown,
            stale_refresh: StaleRefresh::Background,
            concurrent_discoveries: 64,
            answer_deadline: Duration::from_secs(2),
            remember_searches: false,
            asking: ApprovalSettings {
                timeout: Duration::from_secs(120),
                ..ApprovalSettings::default()
            },
            // The configuration's default is stricter; a host program that makes its own hub decides itself.
            review: ReviewMode::Off,
            result_scan: ResultScan::default(),
            rules: Arc::default(),
        }
    }
}
