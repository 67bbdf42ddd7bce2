//! A connection to one MCP server: process spawning, transports, protocol era, limits, paging, shutdown.
//!
//! Invariant: only `spawn` creates processes, and only `http` and the proxy of a sandbox open outgoing connections.
//! Invariant: no process that was started here outlives its connection or the program.
//! Invariant: payloads are forwarded verbatim; only the envelope is parsed.
//! Invariant: everything a server sends is bounded in size, depth, number and time, and never causes a panic.
//! Invariant: a resolved secret reaches the server's process or headers, and no text that leaves this crate.

// The public interface.
mod connector;
mod contract;
mod machine_load;

// The protocol, independent of the transport.
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

// The clients that make calls.
mod byte_budget;
mod callers;
mod client_request;
mod listeners;
mod log_levels;
mod root_request;
mod roots;

// Stdio servers.
mod browser;
mod environment;
mod era_detection;
mod flood;
mod frame;
mod instance_facts;
mod kill;
mod malformed;
mod marks;
mod memory;
mod outbox;
mod owner_limit;
mod packages;
mod parent_death;
mod process;
mod process_handle;
mod safe_path;
mod sandbox;
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

// HTTP servers.
mod http;
mod oauth;

// Secrets and error messages.
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
pub use capabilities::ClientCapabilities;
pub use connector::{Connector, ConnectorConfig};
pub use contract::{
    Announcement, CallOptions, CallOutcome, Caller, Connect, ConnectHint, ForwardedRequest,
    Handshake, Health, InputResponses, Listener, LogSink, NoLogs, OfferKind, OutcomeKind,
    RequestedFromClients, ToolListing, Upstream,
};
pub use dialect::ClientInfo;
pub use environment::inherited_variables;
pub use http::{ApiEndpoint, ApiResponse, ApiResponseLimits};
pub use instance_facts::{instance_variables, resolved_program};
pub use machine_load::{MachineLoad, processors};
pub use marks::{is_marked, runs_under_a_server, sweep_orphans};
pub use memory::resident_bytes;
pub use mirror::mirrored_headers;
pub use oauth::{
    DeviceLogin, LOGIN_TIME, LoginKey, LoginOptions, LoginStore, Logins, LogoutOutcome,
    MemoryLogins, PendingLogin, StoredLogin, needs_login,
};
pub use packages::{ResolvedPackage, resolve_package};
pub use process::start_time;
pub use process_handle::{ProcessHandle, Signal};
pub use sandbox::{
    DeniedPath, SandboxFacts, SandboxSupport, SandboxTrial, denied_paths, sandbox_facts,
    sandbox_support,
};
pub use spawn::{run_tool, start_background};
pub use subreaper::{adopt_orphans, end_leftovers};
pub use watcher::{
    WATCH_ARGUMENT, run_watcher, set_watcher_program, start_watcher_early, stop_watcher,
};

/// Returns the current time, for `Health`.
fn now() -> pegboard_model::Timestamp {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    pegboard_model::Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
