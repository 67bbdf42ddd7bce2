//! An MCP client for the client scenarios of the MCP conformance suite: Pegboard's connector with a user who accepts
//! everything.
//!
//! `pegboard-conformance-client URL`, with the scenario in `MCP_CONFORMANCE_SCENARIO` and its data in
//! `MCP_CONFORMANCE_CONTEXT`, as the suite sets them.
//!
//! It does the same in every scenario: it connects, reads all lists, calls every admitted tool (with the arguments of
//! the scenario, or sample arguments), and reads every prompt and resource. Errors are printed and do not end the run;
//! the suite judges by what its server received.

#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]
#![allow(clippy::print_stderr, reason = "it prints errors")]

mod arguments;
mod scenario;
mod user;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Limits, NoSecrets};
use pegboard_testkit::http_spec;
use pegboard_upstream::{ClientInfo, Connect, ConnectHint, Connector, ConnectorConfig, NoLogs};
use serde_json::Value;

use crate::scenario::ScenarioRun;

/// Timeout of the handshake; the suite ends a client after 30 s in total.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = std::env::args()
        .next_back()
        .filter(|url| url.starts_with("http"))
    else {
        eprintln!("usage: pegboard-conformance-client URL");
        return ExitCode::from(2);
    };
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let spec = http_spec("scenario", url);
    let connector = Connector::new(ConnectorConfig {
        limits: Limits::default(),
        secrets: Arc::new(NoSecrets),
        environment: std::env::vars().collect(),
        env_allow: Vec::new(),
        work_dirs: None,
        protected: Vec::new(),
        trial: None,
        logs: Arc::new(NoLogs),
        client: ClientInfo {
            name: "pegboard-conformance-client".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    });
    let server = match connector
        .connect(&spec, &ConnectHint::default(), CONNECT_TIMEOUT)
        .await
    {
        Ok(server) => server,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let succeeded = ScenarioRun::new(&server, spec.name, context).all().await;
    server.close().await;
    if succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
