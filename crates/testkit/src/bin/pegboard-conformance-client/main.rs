//! An MCP client for the client scenarios of the MCP conformance suite: Pegboard's connector with a user who accepts
//! everything.
//!
//! `pegboard-conformance-client URL`, with the scenario in `MCP_CONFORMANCE_SCENARIO` and its data in
//! `MCP_CONFORMANCE_CONTEXT`, as the suite sets them.
//!
//! It does the same in every scenario: it connects, reads all lists, calls every admitted tool (with the arguments of
//! the scenario, or sample arguments), and reads every prompt and resource. If the server requires a login, it logs in as
//! a person would, at most three times, and starts again. Errors are printed and do not end the run;
//! the suite judges by what its server received.

#![allow(
    clippy::indexing_slicing,
    reason = "reading a JSON value by key gives null, never a panic"
)]
#![allow(clippy::print_stderr, reason = "it prints errors")]

mod arguments;
mod login;
mod scenario;
mod user;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Limits, NoSecrets, ServerSpec};
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
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let mut spec = http_spec("scenario", url);
    spec.oauth = Some(Box::new(login::settings(&scenario, &context)));
    let logins = login::logins();
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
    })
    .with_logins(logins.clone());
    for _ in 0..login::MAX_LOGINS {
        let succeeded = run(&connector, &spec, &context).await;
        if !login::take_needed() {
            return exit_code(succeeded);
        }
        if let Err(error) = login::log_in(&logins, &spec).await {
            eprintln!("{}", error.full_message());
            return ExitCode::FAILURE;
        }
    }
    exit_code(run(&connector, &spec, &context).await)
}

fn exit_code(succeeded: bool) -> ExitCode {
    match succeeded {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Does everything once. Returns whether all of it succeeded.
async fn run(connector: &Connector, spec: &ServerSpec, context: &Value) -> bool {
    let hint = ConnectHint::default();
    let server = match connector.connect(spec, &hint, CONNECT_TIMEOUT).await {
        Ok(server) => server,
        Err(error) => {
            login::note(&error);
            eprintln!("{error}");
            return false;
        }
    };
    let run = ScenarioRun::new(&server, spec.name.clone(), context.clone());
    let succeeded = run.all().await;
    server.close().await;
    succeeded
}
