//! The living centre: owns the current catalog, decides when to discover, and routes calls.
//!
//! Invariant: reading is cloning an `Arc`; no read waits for a writer, a lock, a disk or a server.
//! Invariant: every call of a tool, whoever asks, passes [`Hub::call`], which asks one policy gate; every other
//! request to a server passes [`Hub::forward`], under the same rules for starting it.
//! Invariant: at most one discovery per server at a time, also between processes sharing a store.
//! Invariant: a failure of one server changes nothing but that server's entry.

mod announcing;
mod background;
mod call;
mod checks;
mod clock;
mod discover;
mod events;
mod flight;
mod forward;
mod freshness;
mod gate;
mod health;
mod hub;
mod look;
mod offers;
mod refresh;
mod reload;
mod seat;
mod start;
mod static_tools;
mod stats;
mod tasks;
mod watching;

pub use call::{CallRequest, SessionId};
pub use clock::SystemClock;
pub use forward::ForwardRequest;
pub use freshness::{Freshness, freshness, time_to_live};
pub use gate::{Approver, Ask, NobodyToAsk, Verdict};
pub use health::{RunState, ServerHealth};
pub use hub::{Hub, Parts};
pub use refresh::{Pending, RefreshOutcome, Refreshed, Source, Which};
pub use reload::ConfigChange;
pub use static_tools::ToolHandler;

pub use pegboard_upstream::{Announcement, CallOutcome, Caller, Input, OutcomeKind, declares};

use std::time::Duration;

/// What a user may set about the hub as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubSettings {
    /// Which servers are asked again when a session starts.
    pub refresh_on_start: RefreshOnStart,
    /// What happens when tools are needed and their time is over.
    pub stale_refresh: StaleRefresh,
    /// Discoveries side by side.
    pub concurrent_discoveries: usize,
    /// How long a listing waits for servers that were never seen.
    pub answer_deadline: Duration,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            refresh_on_start: RefreshOnStart::Unknown,
            stale_refresh: StaleRefresh::Background,
            concurrent_discoveries: 64,
            answer_deadline: Duration::from_secs(2),
        }
    }
}

/// Which servers are asked again when a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshOnStart {
    /// Those never seen.
    Unknown,
    /// Those whose list is stale, too.
    Stale,
    /// Every one.
    All,
}

/// What happens when tools are needed and their time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaleRefresh {
    /// The old list is used; a new one is fetched when that starts no process.
    Background,
    /// A new list is fetched first, within a deadline.
    Always,
}
