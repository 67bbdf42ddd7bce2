//! An MCP client for the client scenarios of the MCP conformance suite: Pegboard's connector, with a person behind
//! it who accepts everything.
//!
//! `pegboard-conformance-client URL`, with the scenario in `MCP_CONFORMANCE_SCENARIO` and its data in
//! `MCP_CONFORMANCE_CONTEXT`, as the suite sets them.
//!
//! It does the same in every scenario: it opens the conversation, reads all lists, calls every tool that is admitted
//! (with the arguments that the scenario gives, or ones that fit its schema), and reads every prompt and resource.
//! What fails on the way is told and does not end the rest; the suite judges by what its server saw.

#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]
#![allow(clippy::print_stderr, reason = "it tells what went wrong")]
#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

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

/// How long the opening may take; the suite ends a client that takes longer than 30 s in all.
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
