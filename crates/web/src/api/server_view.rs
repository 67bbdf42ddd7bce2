//! Servers in API responses.

use pegboard_catalog::{Delta, ServerEntry};
use pegboard_config::{DefinitionWarning, command_line, definition_warnings, masked_command_line};
use pegboard_hub::{RunState, ServerHealth};
use pegboard_model::{
    DiscoveryStatus, ErrorSummary, Layer, ShareScope, SharingDecision, Transport, TrustState,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::role::Authorized;
use crate::state::WebState;

/// A server in a list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerSummary {
    /// The name.
    #[schema(example = "github")]
    name: String,
    /// The description.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// `stdio`, `http`, or `sse` for the old HTTP+SSE transport.
    transport: &'static str,
    /// The command or URL, with secrets masked.
    command: String,
    /// Whether its tools are offered.
    enabled: bool,
    /// The trust state: `granted`, `pending` or `changed`.
    #[schema(value_type = String, example = "granted")]
    trust_state: TrustState,
    /// The number of tools.
    tools: usize,
    /// Estimated tokens of their definitions.
    tokens: u64,
    /// Which clients share one instance.
    sharing: Sharing,
    /// The health.
    health: Health,
}

/// Which clients share one instance of a server, and why.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sharing {
    /// `user`, `project` or `session`.
    #[schema(value_type = String, example = "project")]
    scope: ShareScope,
    /// Whether `share` in the configuration sets the scope.
    is_configured: bool,
    /// The reason.
    #[schema(example = "has tools that control a browser")]
    reason: String,
}

impl Sharing {
    fn of(decision: &SharingDecision) -> Self {
        Self {
            scope: decision.scope,
            is_configured: decision.is_configured,
            reason: decision.reason.to_string(),
        }
    }
}

/// The health of a server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Health {
    /// `configured`, `known`, `running` or `busy`.
    #[schema(value_type = String, example = "known")]
    state: RunState,
    /// The discovery status: `never`, `discovering`, `success` or `failed`.
    #[schema(value_type = String, example = "success")]
    status: DiscoveryStatus,
    /// Whether its list is stale.
    stale: bool,
    /// When its tools were last received, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_discovered: Option<u64>,
    /// When the last discovery was attempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_attempt: Option<u64>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<ServerErrorView>,
    /// Why its newest list was not stored; it is lost when Pegboard exits.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_stored: Option<ServerErrorView>,
    /// The login, if the server requires one: `state` is `required`, `logged_in`, `expired` or `more_rights_needed`;
    /// with `account`, `until`, `renewable`, `scopes` and `issuer` where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    login: Option<Value>,
    /// Consecutive failures.
    failures: u32,
    /// Number of running instances; more than one only if each session has its own.
    instances: usize,
    /// The connection, if there is one: `pid`, `in_flight`, `started`, and counts of faulty frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    connection: Option<Value>,
}

/// An error of a server.
#[derive(Serialize, ToSchema)]
pub(super) struct ServerErrorView {
    /// The error code.
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
            login: health
                .login
                .as_ref()
                .and_then(|login| serde_json::to_value(login).ok()),
            failures: health.failures,
            instances: health.instances,
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
            transport: entry.transport(),
            command: masked_command_line(&spec.transport),
            enabled: spec.enabled,
            trust_state: spec.trust_state,
            tools: tools.len(),
            tokens: tools.iter().map(|tool| u64::from(tool.tokens)).sum(),
            sharing: Sharing::of(entry.sharing()),
            health: Health::of(state.hub().health_of(entry), entry),
        }
    }
}

/// All details of a server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerDetails {
    #[serde(flatten)]
    listed: ServerSummary,
    /// The exact command or URL of an untrusted server, for administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact_command: Option<String>,
    /// The trust review of a project's server, for administrators: `file`, `line`, `replaces` (the
    /// replaced server of the user), `transport`, `command`, `folder`, `variables` and `headers` (each with `name`,
    /// `value` as written and `warning`), `receives` (the user's secrets and variables, each with `kind`, `name`,
    /// `used_as`, `sent_to` and `because`), and `refused` if it is too long to trust. Texts are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    trust: Option<Value>,
    /// Warnings about the definition, each with `key` and `text`.
    #[schema(value_type = Vec<Object>)]
    warnings: Vec<DefinitionWarning>,
    /// The config hash that trust is bound to.
    definition_hash: String,
    /// Names of its environment variables or headers.
    variables: Vec<String>,
    /// Its configuration values, with secrets masked.
    config: Vec<ConfigValue>,
    /// The layer that defines it: `builtin`, `user`, `project`, `environment` or `flag`.
    #[schema(value_type = String, example = "user")]
    layer: Layer,
    /// The file that defines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The protocol revision; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol_version: Option<String>,
    /// Its own name and version; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_info: Option<String>,
    /// Its instructions; untrusted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// The last discovery since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_delta: Option<LastDelta>,
    /// Rejected tools, each with `tool`, `reason` and `detail`.
    #[schema(value_type = Vec<Object>)]
    rejected: Value,
}

/// A value of the configuration.
#[derive(Serialize, ToSchema)]
pub(super) struct ConfigValue {
    /// The key.
    key: String,
    /// The value; possible secrets are `***`.
    value: String,
}

/// A successful discovery.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LastDelta {
    /// The time, in milliseconds since 1970.
    at: u64,
    /// The duration in milliseconds.
    duration_ms: u64,
    /// The changes: `added`, `removed`, `changed` and `unchanged`.
    #[schema(value_type = Object)]
    delta: Delta,
}

impl ServerDetails {
    pub(super) fn of(entry: &ServerEntry, state: &WebState, client: &Authorized) -> Self {
        let (spec, record) = (&entry.spec, &entry.record);
        let last = state.hub().last_delta(&spec.name);
        let values = state.config_admin().config_values(&spec.name).into_iter();
        let file = spec.origin.file.as_ref();
        let info = record.info.as_ref();
        let is_waiting = client.is_admin() && spec.trust_state != TrustState::Granted;
        let review = state.config_admin().review(&spec.name);
        // The files may have changed since the snapshot; trust must apply to what is shown.
        let review = review.filter(|review| is_waiting && review.hash == spec.hash);
        Self {
            listed: ServerSummary::of(entry, state),
            exact_command: is_waiting.then(|| command_line(&spec.transport)),
            trust: review.and_then(|review| serde_json::to_value(review).ok()),
            warnings: definition_warnings(&spec.name, &spec.transport),
            definition_hash: spec.hash.to_string(),
            variables: variables(&spec.transport),
            config: values
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
            let bearer = bearer.iter().map(|_| "Authorization".to_owned());
            headers.keys().cloned().chain(bearer).collect()
        }
    }
}
