//! `pegboard status`: whether a Pegboard runs, and the state of configuration, servers and store. Starts nothing.

mod background;
mod screen;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Method;
use pegboard::dashboard::{InstanceInfo, running_instance_info};
use pegboard::{Configuration, Pegboard};
use pegboard_config::{Severity, SourceFile};
use pegboard_gateway::http::{TOKEN_FILE, stored_token};
use pegboard_model::{Reason, Secret, ToolError};
use serde::{Deserialize, Serialize};

use self::background::BackgroundStatus;
use super::list::state_of;
use super::running::{connectable, request};
use super::{CommandResult, Global, Output, builder, open, problem_with_named_path, reading};
use crate::failure::Failure;

/// The time allowed for the response of the running Pegboard.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How deep the state directory is searched for files when its size is counted.
const STATE_DIR_DEPTH: usize = 4;
/// The maximum number of servers whose last error is listed.
const MAX_ERRORS: usize = 20;

/// The document of `--json`; documented in docs/commands.md.
#[derive(Serialize)]
struct Status {
    version: &'static str,
    commit: &'static str,
    running: Option<RunningPegboard>,
    token: TokenSource,
    /// The clients of the HTTP endpoint and its project; `None` if no running Pegboard could be asked.
    clients: Option<Vec<Client>>,
    /// The process that all clients share, with the clients of all projects.
    background: BackgroundStatus,
    config: ConfigStatus,
    servers: ServerStatus,
    tools: usize,
    store: StoreStatus,
    last_errors: Vec<LastError>,
}

#[derive(Serialize)]
struct RunningPegboard {
    url: String,
    mcp_url: String,
    pid: Option<u32>,
    /// Milliseconds since 1970.
    since: Option<u64>,
    version: Option<String>,
    /// False if it did not answer, or not with success.
    reachable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// How a program gets the token; never the token itself.
#[derive(Serialize)]
struct TokenSource {
    file: Option<PathBuf>,
    command: &'static str,
}

#[derive(Serialize, Deserialize)]
struct Client {
    id: String,
    #[serde(alias = "face")]
    transport: String,
    #[serde(default)]
    client: Option<String>,
    #[serde(default)]
    profile: Option<String>,
    calls: u64,
    #[serde(alias = "lastSeen")]
    last_seen: u64,
}

#[derive(Deserialize)]
struct Sessions {
    sessions: Vec<Client>,
}

#[derive(Serialize)]
struct ConfigStatus {
    files: Vec<SourceFile>,
    project: Option<PathBuf>,
    errors: usize,
    warnings: usize,
}

#[derive(Serialize)]
struct ServerStatus {
    total: usize,
    by_state: BTreeMap<&'static str, usize>,
    broken: Vec<String>,
}

#[derive(Serialize)]
struct StoreStatus {
    path: PathBuf,
    bytes: u64,
    writable: bool,
}

#[derive(Serialize)]
struct LastError {
    server: String,
    code: String,
    message: String,
}

pub(crate) fn run(global: &Global, output: &Output) -> CommandResult {
    let configuration = builder(global).load()?;
    if let Some(problem) = problem_with_named_path(global, &configuration) {
        return Err(problem.clone().into());
    }
    let status = reading(async {
        let state = configuration.state.path().to_owned();
        let background = BackgroundStatus::of(&state, &configuration.environment);
        let (running, clients) = find_running(&state).await;
        let pegboard = open(configuration, builder(global), output).await?;
        let status = status_of(&pegboard, running, clients, background);
        pegboard.shut_down().await;
        Ok(status)
    })?;
    match output.json {
        true => output.document(&status)?,
        false => screen::print(&status, output)?,
    }
    match status.exit_code() {
        0 => Ok(()),
        code => Err(Failure::shown(code)),
    }
}

impl Status {
    /// 2 if the configuration has errors, 3 if no Pegboard runs or it does not answer, else 0.
    fn exit_code(&self) -> u8 {
        let is_reachable = match &self.running {
            Some(found) => found.reachable,
            None => self.background.is_reachable(),
        };
        match (self.config.errors, is_reachable) {
            (1.., _) => Reason::ConfigInvalid.exit_code(),
            (_, false) => Reason::NotRunning.exit_code(),
            (_, true) => 0,
        }
    }
}

/// Finds the running Pegboard and asks it for its clients.
async fn find_running(state: &Path) -> (Option<RunningPegboard>, Option<Vec<Client>>) {
    let Ok(info) = running_instance_info(state) else {
        return (None, None);
    };
    let sessions = sessions(&info, state).await;
    let url = format!("http://{}", connectable(info.address));
    let running = RunningPegboard {
        mcp_url: format!("{url}/mcp"),
        url,
        pid: info.pid,
        since: info.since.map(|since| since.0),
        version: info.version,
        reachable: sessions.is_ok(),
        error: sessions.as_ref().err().map(|error| error.message.clone()),
    };
    (Some(running), sessions.ok())
}

async fn sessions(info: &InstanceInfo, state: &Path) -> Result<Vec<Client>, ToolError> {
    // Without authentication there may be no token, and none is needed.
    let token = stored_token(state)?.unwrap_or_else(|| Secret::new(String::new()));
    let answer: Sessions = request(
        info.address,
        Method::GET,
        "/api/v1/sessions",
        &token,
        RESPONSE_TIMEOUT,
    )
    .await?;
    Ok(answer.sessions)
}

fn status_of(
    pegboard: &Pegboard,
    running: Option<RunningPegboard>,
    clients: Option<Vec<Client>>,
    background: BackgroundStatus,
) -> Status {
    let configuration = pegboard.configuration();
    let catalog = pegboard.hub().catalog();
    let mut by_state = BTreeMap::new();
    let mut last_errors = Vec::new();
    for entry in catalog.servers() {
        let (_, state) = state_of(entry);
        *by_state.entry(state).or_default() += 1;
        if let Some(error) = &entry.record.last_error
            && last_errors.len() < MAX_ERRORS
        {
            last_errors.push(LastError {
                server: entry.name().to_string(),
                code: error.reason.to_string(),
                message: error.message.clone(),
            });
        }
    }
    let token_file = configuration.state.path().join(TOKEN_FILE);
    Status {
        version: env!("CARGO_PKG_VERSION"),
        commit: crate::version::COMMIT,
        running,
        token: TokenSource {
            file: token_file.is_file().then_some(token_file),
            command: "pegboard token",
        },
        clients,
        background,
        config: config_status(configuration),
        servers: ServerStatus {
            total: catalog.servers().count(),
            by_state,
            broken: configuration.loaded.broken.keys().cloned().collect(),
        },
        tools: catalog.tools().count(),
        store: StoreStatus {
            path: configuration.state.path().to_owned(),
            bytes: size_below(configuration.state.path(), STATE_DIR_DEPTH),
            writable: configuration.state.unwritable().is_none(),
        },
        last_errors,
    }
}

fn config_status(configuration: &Configuration) -> ConfigStatus {
    let loaded = &configuration.loaded;
    let count = |severity: Severity| {
        let problems = loaded.problems.iter();
        problems.filter(|p| p.severity == severity).count()
    };
    ConfigStatus {
        files: loaded.files.clone(),
        project: loaded.project.clone(),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
    }
}

/// Returns the size of the files below a directory. Links are not followed.
fn size_below(folder: &Path, depth: usize) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(metadata) if metadata.is_dir() && depth > 0 => size_below(&entry.path(), depth - 1),
        _ => 0,
    });
    sizes.sum()
}
