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
mod allowance;
mod declared;
mod dialect;
mod doubts;
mod envelope;
mod handshake;
mod header_text;
mod mirror;
mod offers;
mod outcome;
mod pager;
mod pass;
mod pulse;
mod surrogates;
mod talk;
mod traffic;
mod verdict;
mod watch_resource;
mod watching;
mod wire;

// The clients behind calls.
mod byte_budget;
mod callers;
mod listeners;
mod question;
mod root_request;
mod roots;

// Servers on pipes.
mod adopt;
mod browser;
mod damage;
mod environment;
mod era;
mod flood;
mod frame;
mod kill;
mod link;
mod marks;
mod near_program;
mod outbox;
mod owner_limit;
mod parent_death;
mod process;
mod reading;
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
mod wording;

#[cfg(test)]
mod passing;
#[cfg(test)]
mod passing_shared;
#[cfg(test)]
mod testing;

pub use adopt::{adopt_orphans, end_leftovers};
pub use byte_budget::{ByteBudget, HeldBytes, NoRoom};
pub use connector::{Connector, Setup};
pub use contract::{
    Announcement, CallOptions, CallOutcome, Caller, Connect, ConnectHint, Forward, Handshake,
    Health, Input, Listener, LogSink, NoLogs, OfferKind, OutcomeKind, ToolListing, Upstream,
};
pub use declared::declares;
pub use dialect::ClientInfo;
pub use http::{Reply, ReplyLimits, Service};
pub use machine_load::{MachineLoad, processors};
pub use marks::{runs_under_a_server, sweep_orphans};
pub use mirror::mirrored_headers;
pub use watcher::{WATCH_ARGUMENT, dismiss_watcher, watch, watch_soon, watched_by};

/// The present moment, for `Health`.
fn now() -> pegboard_model::Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    pegboard_model::Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
