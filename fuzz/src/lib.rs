//! Fuzz targets for every parser of foreign input.
//!
//! A target is a function from bytes to `bool`. It checks the invariants of one parser with assertions, and returns
//! whether the input got past the first parser, so that a driver can measure whether its inputs reach the code behind
//! it. There are two drivers: `tests/brief.rs` mutates seeds on stable Rust in every test run, and `fuzz_targets/` is
//! coverage-guided (`scripts/fuzz`).
//!
//! Invariant: a target depends only on its input, so that a crash can be reproduced.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed assertion is the result of a fuzz target"
)]

mod arguments;
mod client_lines;
mod config;
mod http;
mod import;
mod lines;
mod messages;
mod oauth;
mod scanner;
mod sealed;
mod sse;
mod sse_endpoint;
mod tools;
mod uris;

/// A fuzz target.
pub struct Target {
    /// The name of the target and of its folder in `seeds/`.
    pub name: &'static str,
    /// Checks one input. Returns whether it got past the first parser.
    pub run: fn(&[u8]) -> bool,
}

/// All targets.
pub const TARGETS: &[Target] = &[
    target("server_lines", lines::server_lines),
    target("client_lines", client_lines::client_lines),
    target("sse", sse::events),
    target("sse_endpoint", sse_endpoint::endpoint),
    target("login_challenge", oauth::challenge),
    target("login_metadata", oauth::metadata),
    target("jsonrpc", messages::envelope),
    target("client_message", messages::client_message),
    target("tools", tools::admission),
    target("scanner", scanner::scanning),
    target("arguments", arguments::validation),
    target("config_toml", config::toml),
    target("config_yaml", config::yaml),
    target("config_json", config::json),
    target("client_file", config::client_file),
    target("client_import", import::clients),
    target("server_url", config::server_url),
    target("resource_uri", uris::resources),
    target("sealed_id", sealed::ids),
    target("http_request", http::request),
];

const fn target(name: &'static str, run: fn(&[u8]) -> bool) -> Target {
    Target { name, run }
}

/// Returns the target with this name.
pub fn find(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Runs a future to completion on a runtime that this thread keeps.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Splits the input at its first line break. The second part is empty if there is none.
fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}
