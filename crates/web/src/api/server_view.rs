//! One server as the API shows it.

use pegboard_catalog::{Delta, ServerEntry};
use pegboard_config::{DefinitionWarning, command_line, definition_warnings, masked_command_line};
use pegboard_hub::{RunState, ServerHealth};
use pegboard_model::{DiscoveryStatus, ErrorSummary, Layer, Transport, TrustState};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::role::Authorized;
use crate::state::WebState;

/// A server in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerSummary {
    /// Its name.
    #[schema(example = "github")]
    name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// `stdio` or `http`.
    transport: &'static str,
    /// The command or address, without what may be secret in it.
    command: String,
    /// Whether its tools are offered.
    enabled: bool,
    /// Whether somebody agreed to start it: `granted`, `pending` or `changed`.
    #[schema(value_type = String, example = "granted")]
    approval: TrustState,
    /// How many tools it has.
    tools: usize,
    /// About how many tokens their definitions cost.
    tokens: u64,
    /// How it is doing.
    health: Health,
}

/// How a server is doing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    /// `configured`, `known`, `running` or `busy`.
    #[schema(value_type = String, example = "known")]
    state: RunState,
    /// How its last discovery ended: `never`, `discovering`, `success` or `failed`.
    #[schema(value_type = String, example = "success")]
    status: DiscoveryStatus,
    /// Whether its list is older than it should be.
    stale: bool,
    /// When its tools were last received, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_discovered: Option<u64>,
    /// When they were last asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_attempt: Option<u64>,
    /// Why the last try failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<ServerErrorView>,
    /// Why its newest list was not stored, so that it is lost when Pegboard ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_stored: Option<ServerErrorView>,
    /// How often in a row it failed to start.
    failures: u32,
    /// Its connection, when there is one: `pid`, `in_flight`, `started`, and counts of faulty frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    connection: Option<Value>,
}

/// Why something with a server failed.
#[derive(Serialize, ToSchema)]
pub(super) struct ServerErrorView {
    /// The code.
    code: &'static str,
    /// What happened; it may quote the server.
    message: String,
    /// The next step.
    remedy: String,
}

impl ServerErrorView {
    pub(super) fn of(note: &ErrorSummary) -> Self {
        Self {
            code: note.reason.code(),
            message: note.message.clone(),
            remedy: note.remedy.clone(),
        }
    }
}

impl Health {
    pub(super) fn of(health: ServerHealth, entry: &ServerEntry) -> Self {
        let connection = health.connection.as_ref();
        Self {
            state: health.state,
            status: health.status,
            stale: health.stale,
            last_discovered: health.last_discovered.map(|at| at.0),
            last_attempt: entry.record.attempted_at.map(|at| at.0),
            last_error: health.last_error.as_ref().map(ServerErrorView::of),
            not_stored: health.not_stored.as_ref().map(ServerErrorView::of),
            failures: health.failures,
            connection: connection.and_then(|health| serde_json::to_value(health).ok()),
        }
    }
}

impl ServerSummary {
    pub(super) fn of(entry: &ServerEntry, state: &WebState) -> Self {
        let (spec, tools) = (&entry.spec, &entry.record.tools);
        Self {
            name: spec.name.to_string(),
            description: spec.description.clone(),
            transport: spec.transport.kind(),
            command: masked_command_line(&spec.transport),
            enabled: spec.enabled,
            approval: spec.approval,
            tools: tools.len(),
            tokens: tools.iter().map(|tool| u64::from(tool.tokens)).sum(),
            health: Health::of(state.hub().health_of(entry), entry),
        }
    }
}

/// Everything about a server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerDetails {
    #[serde(flatten)]
    listed: ServerSummary,
    /// The exact command or address of a server that waits for an agreement, for whoever may give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_command: Option<String>,
    /// What trusting a server of a project means, for whoever may trust it: `file`, `line`, `replaces` (the user's
    /// own server that it replaces), `transport`, `command`, `folder`, `variables` and `headers` (each with `name`,
    /// `value` as written and `warning`), `receives` (the user's secrets and variables, each with `kind`, `name`,
    /// `used_as`, `sent_to` and `because`), and `refused` if it is too long to be trusted. Texts are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    trust: Option<Value>,
    /// What should be known about its definition: each with `key` and `text`.
    #[schema(value_type = Vec<Object>)]
    warnings: Vec<DefinitionWarning>,
    /// The hash of the definition; trust refers to exactly this one.
    definition_hash: String,
    /// Names of the variables or headers that it gets.
    variables: Vec<String>,
    /// What stands in the files about it, without secrets.
    config: Vec<ConfigValue>,
    /// The layer that defines it: `builtin`, `user`, `project`, `environment` or `flag`.
    #[schema(value_type = String, example = "user")]
    layer: Layer,
    /// The file that defines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The revision of the protocol that it speaks; foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<String>,
    /// What it calls itself; foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_info: Option<String>,
    /// What it says about using it; foreign text.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Its last discovery since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_delta: Option<LastDelta>,
    /// Tools that it sent and that were not accepted: each with `tool`, `reason` and `detail`.
    #[schema(value_type = Vec<Object>)]
    rejected: Value,
}

/// A value of the configuration.
#[derive(Serialize, ToSchema)]
pub(super) struct ConfigValue {
    /// Its key.
    key: String,
    /// Its value; what may be secret is `***`.
    value: String,
}

/// A discovery that answered.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LastDelta {
    /// When, in milliseconds since 1970.
    at: u64,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// What it changed: `added`, `removed`, `changed` and `unchanged`.
    #[schema(value_type = Object)]
    delta: Delta,
}

impl ServerDetails {
    pub(super) fn of(entry: &ServerEntry, state: &WebState, who: &Authorized) -> Self {
        let (spec, record) = (&entry.spec, &entry.record);
        let last = state.hub().last_delta(&spec.name);
        let written = state.config_admin().config_values(&spec.name).into_iter();
        let file = spec.origin.file.as_ref();
        let info = record.info.as_ref();
        let is_waiting = who.is_admin() && spec.approval != TrustState::Granted;
        let review = state.config_admin().review(&spec.name);
        // The files may have changed since the catalog was made; trust must be for what is shown.
        let review = review.filter(|review| is_waiting && review.hash == spec.hash);
        Self {
            listed: ServerSummary::of(entry, state),
            exact_command: is_waiting.then(|| command_line(&spec.transport)),
            trust: review.and_then(|review| serde_json::to_value(review).ok()),
            warnings: definition_warnings(&spec.name, &spec.transport),
            definition_hash: spec.hash.to_string(),
            variables: variables(&spec.transport),
            config: written
                .map(|(key, value)| ConfigValue { key, value })
                .collect(),
            layer: spec.origin.layer,
            file: file.map(|file| file.display().to_string()),
            line: spec.origin.line,
            protocol_version: record.protocol_version.clone(),
            server_info: info.map(|info| format!("{} {}", info.name, info.version)),
            instructions: record.instructions.as_deref().map(str::to_owned),
            last_delta: last.map(|last| LastDelta {
                at: last.at.0,
                duration_ms: last.duration_ms,
                delta: (*last.delta).clone(),
            }),
            rejected: serde_json::to_value(&record.rejections).unwrap_or_default(),
        }
    }
}

fn variables(transport: &Transport) -> Vec<String> {
    match transport {
        Transport::Stdio { env, .. } => env.keys().cloned().collect(),
        Transport::Http {
            headers, bearer, ..
        } => {
            let own = bearer.iter().map(|_| "Authorization".to_owned());
            headers.keys().cloned().chain(own).collect()
        }
    }
}
