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
mod token_bucket;
mod capabilities;
mod dialect;
mod era_retries;
mod envelope;
mod handshake;
mod header_text;
mod mirror;
mod list_kind;
mod outcome;
mod pager;
mod forward;
mod response_timer;
mod surrogates;
mod session;
mod inbound;
mod handshake_outcome;
mod watch_resource;
mod subscriptions;
mod transport;

// The clients behind calls.
mod byte_budget;
mod callers;
mod listeners;
mod client_request;
mod root_request;
mod roots;

// Servers on pipes.
mod subreaper;
mod browser;
mod malformed;
mod environment;
mod era_detection;
mod flood;
mod frame;
mod kill;
mod stdio_rpc;
mod marks;
mod suggest_program;
mod outbox;
mod owner_limit;
mod parent_death;
mod process;
mod stdio_reader;
mod safe_path;
mod spawn;
mod stderr;
mod stdio;
mod stdio_listen;
mod supervise;
mod sweep;
mod watcher;
mod work_dir;

// Servers on the network.
mod http;

// Secrets and words.
mod redact;
mod resolve;
mod errors;

#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod shared_stdio_tests;
#[cfg(test)]
mod testing;

pub use subreaper::{adopt_orphans, end_leftovers};
pub use byte_budget::{ByteBudget, ByteReservation, BudgetExceeded};
pub use connector::{Connector, ConnectorConfig};
pub use contract::{
    Announcement, CallOptions, CallOutcome, Caller, Connect, ConnectHint, ForwardedRequest, Handshake,
    Health, InputResponses, Listener, LogSink, NoLogs, OfferKind, OutcomeKind, ToolListing, Upstream,
};
pub use capabilities::declares;
pub use dialect::ClientInfo;
pub use http::{ApiResponse, ApiResponseLimits, ApiEndpoint};
pub use machine_load::{MachineLoad, processors};
pub use marks::{runs_under_a_server, sweep_orphans};
pub use mirror::mirrored_headers;
pub use watcher::{WATCH_ARGUMENT, stop_watcher, run_watcher, start_watcher_early, set_watcher_program};

/// The present moment, for `Health`.
fn now() -> pegboard_model::Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    pegboard_model::Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
