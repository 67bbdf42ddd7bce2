//! Test support for the other crates: a fake clock, specs in one line, waiting for conditions, inspecting
//! processes, and MCP programs: `pegboard-hostile`, which misbehaves according to its [`Script`],
//! `pegboard-replay`, which serves a recorded tool list, and both sides of the protocol's conformance suite,
//! `pegboard-conformance-server` and `pegboard-conformance-client`. A scripted model, [`ModelServer`] and
//! `pegboard-model`, replaces the services of model providers. [`oauth`] has an authorization server and a protected
//! MCP server, in every form that logins meet.
//!
//! Invariant: for tests only. An invalid setup panics with a message that says what is wrong.
//! Invariant: hostile and replaying servers need no async runtime and start in a few milliseconds.
//! Invariant: no fixed sleeps, no fixed ports, no processes or files left behind.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]

mod binary;
mod clock;
mod counts;
mod hostile_http;
mod model_server;
pub mod oauth;
mod process;
pub mod provider_rules;
pub mod script;
mod spec;
mod sse_server;
mod wait;

pub use binary::binary;
pub use clock::FakeClock;
pub use counts::{append_line, methods_in, starts_in};
pub use hostile_http::HostileHttp;
pub use model_server::{ModelRequest, ModelScript, ModelServer, ModelTurn, ScriptedCall};
pub use process::{is_alive, own_peak_rss_kib, own_rss_kib, processes_with_marker, rss_kib};
pub use script::Script;
pub use spec::{http_spec, server, stdio_spec, tool_json, with_env};
pub use sse_server::{SseFault, SsePost, SseScript, SseServer};
pub use wait::{wait_until, wait_until_sync};
