//! Reads one server's table.

use std::collections::BTreeMap;
use std::time::Duration;

use pegboard_model::{
    ClientRequests, ConfigHash, Origin, Policy, Reason, ServerName, ServerRules, ServerSpec,
    Timeouts, ToolOverride, Transport, TrustState,
};

use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::reader::TableReader;
use crate::settings::Settings;
use crate::tools::ReadTools;
use crate::transport::WrittenTransport;

pub(crate) const SERVER_KEYS: &[&str] = &[
    "args",
    "bearer",
    "call_timeout",
    "category",
    "command",
    "connect_timeout",
    "cwd",
    "description",
    "discovery_timeout",
    "elicitation",
    "enabled",
    "env",
    "headers",
    "idle_timeout",
    "max_age",
    "policies",
    "policy",
    "sampling",
    "tools",
    "ttl",
    "type",
    "url",
];

/// A checked server definition, without its name and origin.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) transport: Transport,
    pub(crate) enabled: bool,
    pub(crate) timeouts: Timeouts,
    pub(crate) ttl: Duration,
    pub(crate) max_age: Duration,
    pub(crate) description: Option<String>,
    pub(crate) category: Option<String>,
    pub(crate) policy: Option<Policy>,
    pub(crate) policies: BTreeMap<String, Policy>,
    pub(crate) tools: BTreeMap<String, ToolOverride>,
    /// Whether the server may send elicitations, if the table contains the key.
    pub(crate) elicitation: Option<bool>,
    /// Whether the server may use the client's model, if the table contains the key.
    pub(crate) sampling: Option<bool>,
    /// The line of each policy, by key.
    pub(crate) rule_lines: BTreeMap<String, usize>,
}

impl Definition {
    /// Creates a definition with default values for everything except the transport.
    pub(crate) fn plain(transport: Transport, settings: &Settings) -> Self {
        Self {
            transport,
            enabled: true,
            timeouts: settings.timeouts(),
            ttl: settings.ttl,
            max_age: settings.max_age,
            description: None,
            category: None,
            policy: None,
            policies: BTreeMap::new(),
            tools: BTreeMap::new(),
            elicitation: None,
            sampling: None,
            rule_lines: BTreeMap::new(),
        }
    }

    /// Returns the client requests that the server's own table permits.
    pub(crate) fn client_requests(&self) -> ClientRequests {
        ClientRequests {
            elicitation: self.elicitation.unwrap_or(true),
            sampling: self.sampling.unwrap_or(true),
        }
    }

    /// Adds name, origin and trust to the definition.
    pub(crate) fn into_spec(
        self,
        name: ServerName,
        origin: Origin,
        approval: TrustState,
        hash: ConfigHash,
    ) -> ServerSpec {
        let client_requests = self.client_requests();
        ServerSpec {
            name,
            transport: self.transport,
            enabled: self.enabled,
            timeouts: self.timeouts,
            ttl: self.ttl,
            max_age: self.max_age,
            description: self.description,
            category: self.category,
            policy: self.policy,
            policies: self.policies,
            tools: self.tools,
            rules: ServerRules {
                client_requests,
                lines: self.rule_lines,
                ..ServerRules::default()
            },
            origin,
            approval,
            hash,
        }
    }
}

/// Reads a server's table. Returns `None` if it has an error, which `reader` has then recorded.
pub(crate) fn read_server(
    entry: &Entry,
    settings: &Settings,
    reader: &mut TableReader<'_>,
) -> Option<Definition> {
    let entries = reader.table(entry, r#"{"command": "…"}"#)?;
    let mut written = WrittenTransport::default();
    let mut timeouts = settings.timeouts();
    let (mut ttl, mut max_age) = (settings.ttl, settings.max_age);
    let (mut enabled, mut disabled) = (None, None);
    let (mut description, mut category, mut policy) = (None, None, None);
    let (mut elicitation, mut sampling) = (None, None);
    let mut policies = BTreeMap::new();
    let mut rule_lines = BTreeMap::new();
    let mut tools = BTreeMap::new();

    for entry in entries {
        match entry.key.as_str() {
            "command" | "args" | "env" | "cwd" | "url" | "serverUrl" | "httpUrl" | "headers"
            | "bearer" | "type" | "transport" => written.take(entry, reader),
            "enabled" => enabled = reader.boolean(entry).map(|value| (value, entry)),
            "disabled" => disabled = reader.boolean(entry).map(|value| (value, entry)),
            "description" => description = reader.text(entry),
            "category" => category = reader.text(entry),
            "elicitation" => elicitation = reader.boolean(entry),
            "sampling" => sampling = reader.boolean(entry),
            "policy" => {
                policy = reader.policy(entry);
                rule_lines.insert("policy".to_owned(), reader.line_of(entry));
            }
            "policies" => {
                for inner in reader
                    .table(entry, r#"{"delete_*": "ask"}"#)
                    .unwrap_or_default()
                {
                    if let Some(policy) = reader.rule(inner) {
                        policies.insert(inner.key.clone(), policy);
                        rule_lines.insert(format!("policies.{}", inner.key), reader.line_of(inner));
                    }
                }
            }
            "discovery_timeout" => set(&mut timeouts.discovery, reader.duration(entry, false)),
            "connect_timeout" => set(&mut timeouts.connect, reader.duration(entry, false)),
            "call_timeout" => set(&mut timeouts.call, reader.duration(entry, false)),
            "idle_timeout" => set(&mut timeouts.idle, reader.duration(entry, true)),
            "timeout" => set(&mut timeouts.call, client_timeout(entry, reader)),
            "ttl" => set(&mut ttl, reader.duration(entry, true)),
            "max_age" => set(&mut max_age, reader.duration(entry, true)),
            "tools" => {
                let mut read = ReadTools {
                    tools: &mut tools,
                    policies: &mut policies,
                    lines: &mut rule_lines,
                };
                read.table(entry, reader);
            }
            // Other clients let a file approve tools. Here only `policy` in the user's own file can.
            "alwaysAllow" | "autoApprove" => {}
            "envFile" => {
                let example = reader.source.format.example("NAME", "\"${NAME}\"");
                reader.report(
                    Severity::Advice,
                    Reason::ConfigUnknownKey,
                    entry.key_start,
                    "`envFile` is not supported; the server will not receive its variables",
                    format!("list the variables in `env`, for example `{example}`"),
                );
            }
            _ => reader.unknown_key(entry, "a server", SERVER_KEYS),
        }
    }

    if let (Some((true, _)), Some((true, entry))) = (enabled, disabled) {
        reader.invalid(
            entry.key_start,
            "the server is both `enabled` and `disabled`",
            "remove one of the two keys",
        );
    }
    let transport = written.check(entry, reader);
    if reader.failed() {
        return None;
    }
    Some(Definition {
        transport: transport?,
        enabled: enabled
            .map(|(value, _)| value)
            .or(disabled.map(|(value, _)| !value))
            .unwrap_or(true),
        timeouts,
        ttl,
        max_age,
        description,
        category,
        policy,
        policies,
        tools,
        elicitation,
        sampling,
        rule_lines,
    })
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// `timeout` in other clients' files is in seconds or in milliseconds. Numbers above 1000 are taken as milliseconds,
/// because no client has calls of more than a thousand seconds.
fn client_timeout(entry: &Entry, reader: &mut TableReader<'_>) -> Option<Duration> {
    match entry.node.value {
        Value::Integer(number) if number > 1000 => {
            u64::try_from(number).ok().map(Duration::from_millis)
        }
        _ => reader.duration(entry, false),
    }
}
