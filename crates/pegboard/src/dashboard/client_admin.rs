//! The files of other MCP clients: their state, the import of their servers, and their connection to Pegboard.

use std::collections::BTreeSet;
use std::path::Path;

use pegboard_config::clients::{
    ApplyOptions, Client, ClientStatus, ConnectOptions, ConnectPlan, ConnectionState,
    DisconnectPlan, EntryTransport, FileScope, ImportPlan, ImportReport, ImportServer, Launch,
    Places, ResultState, SecretMode, Selection, ServerState, StatusOptions, TakeOver,
    connection_status, is_same_server,
};
use pegboard_config::{LoadedConfig, Problem, SecretStore};
use pegboard_model::{Reason, TrustState, UntrustedText};
use pegboard_web::{
    ClientEntry, ClientFileChange, ClientInfo, ConnectionChange, ConnectionPreview, ImportFileInfo,
    ImportOutcome, ImportPreview, ImportSecretInfo, ImportServerInfo, ImportServerOutcome,
    ImportSourceInfo, SecretHandling,
};
use serde_json::Value;

use super::config_reloader::ConfigFiles;
use super::service::own_variables;

/// Longest shown name of a server.
const SHOWN_NAME: usize = 60;

/// Reads and changes the files of clients. Every function reads the current files.
#[derive(Clone)]
pub(super) struct ClientAdmin {
    files: ConfigFiles,
    launch: Launch,
}

impl ClientAdmin {
    /// `command` is the program that clients start.
    pub(super) fn new(files: ConfigFiles, command: &str) -> Self {
        let variables = own_variables(&files.environment, &files.paths);
        let version = env!("CARGO_PKG_VERSION");
        let launch = Launch::new(Path::new(command), version, &files.environment, variables);
        Self { files, launch }
    }

    fn places(&self, loaded: &LoadedConfig) -> Places<'_> {
        let mut places = Places::new(&self.files.environment);
        if let Some(project) = &loaded.project {
            places.project.clone_from(project);
        }
        places
    }

    fn secrets(&self) -> SecretStore {
        SecretStore::open(&self.files.paths.state_dir)
    }

    /// Returns the plan of an import, and the configuration that it was made with.
    fn scan(&self) -> (ImportPlan, LoadedConfig) {
        let loaded = self.files.read();
        let plan = ImportPlan::scan(&self.places(&loaded), &loaded, &self.secrets());
        (plan, loaded)
    }

    pub(super) fn clients(&self) -> Result<Vec<ClientInfo>, Problem> {
        let (plan, loaded) = self.scan();
        let options = StatusOptions::new(Some(self.launch.command.clone()), loaded.settings.port);
        let state_dir = &self.files.paths.state_dir;
        let statuses =
            connection_status(&Places::new(&self.files.environment), state_dir, &options)?;
        let infos = statuses.into_iter();
        Ok(infos.map(|status| client_info(status, &plan)).collect())
    }

    pub(super) fn import_plan(&self) -> ImportPreview {
        preview(&self.scan().0)
    }

    pub(super) fn import(
        &self,
        plan_hash: &str,
        servers: Vec<String>,
        secrets: SecretHandling,
    ) -> Result<ImportOutcome, Problem> {
        let (plan, _) = self.scan();
        if plan.fingerprint() != plan_hash {
            return Err(changed());
        }
        let importable: BTreeSet<&str> = plan
            .importable()
            .filter_map(|server| server.name.as_ref())
            .map(|name| name.as_str())
            .collect();
        if let Some(name) = servers.iter().find(|name| !importable.contains(&***name)) {
            let name = shown(name);
            let message = format!("the plan has no server `{name}` that can be imported");
            return Err(problem(
                Reason::ServerUnknown,
                message,
                "send names of servers of the plan with `isImportable`",
            ));
        }
        let mut selection = Selection::default();
        selection.exact = Some(servers.into_iter().collect());
        let mut options = ApplyOptions::default();
        options.secrets = match secrets {
            SecretHandling::Store => SecretMode::Store,
            SecretHandling::Keep => SecretMode::Keep,
            SecretHandling::Refuse => SecretMode::Refuse,
        };
        let report = plan.apply(&selection, &options, &self.secrets())?;
        Ok(outcome(report))
    }

    pub(super) fn connection_plan(
        &self,
        client: &str,
        change: ConnectionChange,
    ) -> Result<ConnectionPreview, Problem> {
        Ok(self.change(client, change)?.preview(client))
    }

    /// Writes a change if it is the one with this hash.
    pub(super) fn change_connection(
        &self,
        client: &str,
        change: ConnectionChange,
        plan_hash: &str,
    ) -> Result<ConnectionPreview, Problem> {
        let planned = self.change(client, change)?;
        let preview = planned.preview(client);
        if preview.plan_hash != plan_hash {
            return Err(changed());
        }
        match planned {
            Planned::Connect(plan) => plan.apply()?,
            Planned::Disconnect(plans) => {
                for plan in plans {
                    plan.apply()?;
                }
            }
        }
        Ok(preview)
    }

    fn change(&self, key: &str, change: ConnectionChange) -> Result<Planned, Problem> {
        let Some(client) = pegboard_config::clients::client(key) else {
            let message = format!("no client `{}` is known", shown(key));
            return Err(problem(
                Reason::ClientUnknown,
                message,
                "list the keys with `GET /api/v1/clients`",
            ));
        };
        let (plan, loaded) = self.scan();
        let places = Places::new(&self.files.environment);
        let state_dir = &self.files.paths.state_dir;
        match change {
            ConnectionChange::Connect { take_over } => {
                let plan = self.connect(client, take_over, &plan, &loaded)?;
                Ok(Planned::Connect(Box::new(plan)))
            }
            ConnectionChange::Disconnect => {
                let port = loaded.settings.port;
                let plans = DisconnectPlan::all(&places, state_dir, client, port)?;
                Ok(Planned::Disconnect(plans))
            }
        }
    }

    fn connect(
        &self,
        client: &'static Client,
        take_over: bool,
        plan: &ImportPlan,
        loaded: &LoadedConfig,
    ) -> Result<ConnectPlan, Problem> {
        let places = Places::new(&self.files.environment);
        let state_dir = &self.files.paths.state_dir;
        let status = connection_status(&places, state_dir, &StatusOptions::default())?;
        let status = status
            .into_iter()
            .find(|status| status.client == client.key);
        let file = status.and_then(|status| status.file).unwrap_or_default();
        let transport = EntryTransport::Stdio {
            launch: self.launch.clone(),
            profile: None,
        };
        let mut options = ConnectOptions::new(transport);
        options.port = loaded.settings.port;
        options.take_over = match take_over {
            true => TakeOver::All,
            false => TakeOver::None,
        };
        let has_server = |name: &str, entry: &Value| {
            let found = plan.configured_server(client.key, &file, name);
            let server = found.and_then(|name| loaded.servers.get(name));
            server.is_some_and(|server| {
                let is_running = server.enabled && server.trust_state == TrustState::Granted;
                is_running && is_same_server(&server.transport, entry)
            })
        };
        ConnectPlan::new(&places, state_dir, client, &options, &has_server)
    }
}

/// A change that was not written yet.
enum Planned {
    Connect(Box<ConnectPlan>),
    Disconnect(Vec<DisconnectPlan>),
}

impl Planned {
    fn preview(&self, client: &str) -> ConnectionPreview {
        let changes: Vec<ClientFileChange> = match self {
            Self::Connect(plan) if plan.is_connected() => Vec::new(),
            Self::Connect(plan) => vec![ClientFileChange {
                file: plan.path.display().to_string(),
                diff: plan.diff(),
                creates_file: plan.creates_file,
                taken_out: plan.taken_out.clone(),
                direct: plan.direct.clone(),
                ..ClientFileChange::default()
            }],
            Self::Disconnect(plans) => {
                let change = |plan: &DisconnectPlan| ClientFileChange {
                    file: plan.path.display().to_string(),
                    diff: plan.diff(),
                    deletes_file: plan.deletes_file,
                    is_exact: plan.is_exact,
                    put_back: plan.put_back.clone(),
                    ..ClientFileChange::default()
                };
                plans.iter().map(change).collect()
            }
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(client.as_bytes());
        hasher.update(match self {
            Self::Connect(_) => b"connect",
            Self::Disconnect(_) => b"disconnect",
        });
        hasher.update(&serde_json::to_vec(&changes).unwrap_or_default());
        ConnectionPreview {
            client: client.to_owned(),
            plan_hash: hasher.finalize().to_hex().to_string(),
            changes,
        }
    }
}

fn changed() -> Problem {
    let message = "the plan has changed since it was reviewed; nothing was written";
    problem(Reason::PlanChanged, message, Reason::PlanChanged.remedy())
}

fn problem(reason: Reason, message: impl Into<String>, help: &str) -> Problem {
    let mut problem = Problem::error(reason, message);
    problem.help = help.to_owned();
    problem
}

/// A name from a file, escaped like the names in a plan.
fn shown(name: &str) -> String {
    UntrustedText::new(name).shortened(SHOWN_NAME).to_string()
}

fn client_info(status: ClientStatus, plan: &ImportPlan) -> ClientInfo {
    let importable = plan.importable().filter(|server| {
        let mut sources = server.sources.iter();
        server.scope == FileScope::User && sources.any(|source| source.client == status.client)
    });
    let importable = importable.filter_map(|server| server.name.as_ref());
    ClientInfo {
        importable: importable.map(ToString::to_string).collect(),
        client: status.client.to_owned(),
        name: status.name.to_owned(),
        state: state_name(status.state).to_owned(),
        file: status.file.map(|file| file.display().to_string()),
        direct: status.direct.iter().map(|name| shown(name)).collect(),
        entry: status.entry.map(|entry| ClientEntry {
            name: shown(&entry.name),
            transport: entry.transport.to_owned(),
            is_other_program: entry.is_other_program,
            is_missing: entry.is_missing,
        }),
        can_connect: status.can_connect,
        has_record: status.has_record,
        problem: status.problem,
    }
}

fn state_name(state: ConnectionState) -> &'static str {
    match state {
        ConnectionState::NotInstalled => "not_installed",
        ConnectionState::NoServers => "no_servers",
        ConnectionState::Direct => "direct",
        ConnectionState::ThroughPegboard => "through_pegboard",
        ConnectionState::Both => "both",
        _ => "unreadable",
    }
}

fn scope_name(scope: FileScope) -> String {
    match scope {
        FileScope::User => "user".to_owned(),
        FileScope::Project => "project".to_owned(),
    }
}

fn preview(plan: &ImportPlan) -> ImportPreview {
    let files = plan.files.iter().map(|file| ImportFileInfo {
        client: file.client.to_owned(),
        client_name: file.client_name.to_owned(),
        path: file.path.display().to_string(),
        scope: scope_name(file.scope),
        problem: file.problem.as_ref().map(Problem::in_one_line),
        servers: file.servers.clone(),
    });
    ImportPreview {
        plan_hash: plan.fingerprint(),
        user_file: plan.user_file.display().to_string(),
        project_file: plan.project_file.display().to_string(),
        files: files.collect(),
        servers: plan.servers.iter().map(server_info).collect(),
    }
}

fn server_info(server: &ImportServer) -> ImportServerInfo {
    let state = match server.state {
        ServerState::New => "new",
        ServerState::Same => "same",
        ServerState::Differs => "differs",
        ServerState::Pegboard => "pegboard",
        ServerState::Read => "read",
        _ => "broken",
    };
    let missing = server
        .required_secrets
        .iter()
        .filter(|secret| !secret.is_stored);
    let policies = server.policies.iter().map(|(pattern, policy)| {
        let pattern = UntrustedText::new(pattern)
            .shortened(SHOWN_NAME)
            .to_string();
        format!("policy `{pattern}` = `{}`", policy.as_str())
    });
    let secrets = server.secrets.iter().map(|secret| ImportSecretInfo {
        place: secret.place.clone(),
        name: secret.name.clone(),
    });
    let sources = server.sources.iter().map(|source| ImportSourceInfo {
        client: source.client.to_owned(),
        client_name: source.client_name.to_owned(),
        path: source.path.display().to_string(),
        line: source.line,
        name: source.name.clone(),
    });
    ImportServerInfo {
        original_name: server.original_name.clone(),
        name: server.name.as_ref().map(ToString::to_string),
        state: state.to_owned(),
        is_importable: server.is_importable(),
        scope: scope_name(server.scope),
        existing: server.existing.as_ref().map(ToString::to_string),
        definition: server.definition.clone(),
        enabled: server.enabled,
        secrets: secrets.collect(),
        missing_secrets: missing.map(|secret| secret.name.clone()).collect(),
        notes: policies.chain(server.notes.iter().cloned()).collect(),
        problem: server.problem.as_ref().map(Problem::in_one_line),
        sources: sources.collect(),
    }
}

fn outcome(report: ImportReport) -> ImportOutcome {
    let results = report
        .results
        .into_iter()
        .map(|result| ImportServerOutcome {
            name: match result.name {
                Some(name) => name.to_string(),
                None => result.original_name,
            },
            state: match result.state {
                ResultState::Written => "written",
                ResultState::Skipped => "skipped",
                _ => "failed",
            }
            .to_owned(),
            file: result.file.map(|file| file.display().to_string()),
            needs_trust: result.needs_trust,
            reason: result.reason,
        });
    ImportOutcome {
        results: results.collect(),
        stored_secrets: report.stored_secrets,
        missing_secrets: report.missing_secrets,
    }
}
