//! The conversation with one MCP server: spawn, transports, protocol era, frame limits, paging, kill ladder.
//!
//! Invariant: only `spawn` creates processes, and only `http::open` opens outgoing connections.
//! Invariant: no process that was started here outlives its conversation, nor the program.
//! Invariant: payloads stay the bytes the server wrote; only the envelope is looked into.
//! Invariant: whatever a server sends is bounded in size, depth, number and time, and never panics us.
//! Invariant: a resolved secret reaches the server's process or headers, and no text that leaves this crate.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

// What others use.
mod connector;
mod contract;
mod machine_load;

// The protocol, over any transport.
mod capabilities;
mod dialect;
mod era_retries;
mod forward;
mod handshake;
mod handshake_outcome;
mod header_text;
mod inbound;
mod list_kind;
mod mirror;
mod outcome;
mod pager;
mod response_timer;
mod session;
mod subscriptions;
mod token_bucket;
mod transport;
mod watch_resource;

// The clients behind calls.
mod byte_budget;
mod callers;
mod client_request;
mod listeners;
mod root_request;
mod roots;

// Servers on pipes.
mod browser;
mod environment;
mod era_detection;
mod flood;
mod frame;
mod kill;
mod malformed;
mod marks;
mod outbox;
mod owner_limit;
mod parent_death;
mod process;
mod safe_path;
mod spawn;
mod stderr;
mod stdio;
mod stdio_listen;
mod stdio_reader;
mod stdio_rpc;
mod subreaper;
mod suggest_program;
mod supervise;
mod sweep;
mod watcher;
mod work_dir;

// Servers on the network.
mod http;

// Secrets and words.
mod errors;
mod redact;
mod resolve;

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod shared_stdio_tests;
#[cfg(test)]
mod testing;

pub use byte_budget::{BudgetExceeded, ByteBudget, ByteReservation};
pub use capabilities::declares;
pub use connector::{Connector, ConnectorConfig};
pub use contract::{
    Announcement, CallOptions, CallOutcome, Caller, Connect, ConnectHint, ForwardedRequest,
    Handshake, Health, InputResponses, Listener, LogSink, NoLogs, OfferKind, OutcomeKind,
    ToolListing, Upstream,
};
pub use dialect::ClientInfo;
pub use http::{ApiEndpoint, ApiResponse, ApiResponseLimits};
pub use machine_load::{MachineLoad, processors};
pub use marks::{runs_under_a_server, sweep_orphans};
pub use mirror::mirrored_headers;
pub use subreaper::{adopt_orphans, end_leftovers};
pub use watcher::{
    WATCH_ARGUMENT, run_watcher, set_watcher_program, start_watcher_early, stop_watcher,
};

/// The present moment, for `Health`.
fn now() -> pegboard_model::Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    pegboard_model::Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
