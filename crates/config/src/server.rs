//! Reads one server's table.

use std::collections::BTreeMap;
use std::time::Duration;

use pegboard_model::{
    ClientRequests, ConfigHash, OAuthSettings, Origin, Policy, Sandbox, ServerName, ServerRules,
    ServerSpec, Share, Timeouts, ToolOverride, Transport, TrustState,
};

use crate::node::Entry;
use crate::reader::TableReader;
use crate::server_keys::SERVER_KEYS;
use crate::settings::Settings;
use crate::tools::ReadTools;
use crate::transport::WrittenTransport;

/// A server's table while it is read.
pub(crate) struct WrittenServer<'n> {
    pub(crate) transport: WrittenTransport<'n>,
    pub(crate) enabled: Option<(bool, &'n Entry)>,
    pub(crate) disabled: Option<(bool, &'n Entry)>,
    pub(crate) options: ServerOptions,
}

/// A checked server definition, without its name and origin.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) transport: Transport,
    pub(crate) options: ServerOptions,
}

/// Everything in a server's table except its transport.
#[derive(Clone, Debug)]
pub(crate) struct ServerOptions {
    pub(crate) enabled: bool,
    pub(crate) oauth: Option<Box<OAuthSettings>>,
    pub(crate) timeouts: Timeouts,
    pub(crate) ttl: Duration,
    pub(crate) max_age: Duration,
    pub(crate) share: Share,
    /// How the process is confined, if the table contains the key.
    pub(crate) sandbox: Option<Sandbox>,
    /// Hashes of the package that the command downloads.
    pub(crate) integrity: Vec<String>,
    pub(crate) description: Option<String>,
    pub(crate) keywords: Vec<String>,
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

impl ServerOptions {
    fn new(settings: &Settings) -> Self {
        Self {
            enabled: true,
            oauth: None,
            timeouts: settings.timeouts(),
            ttl: settings.ttl,
            max_age: settings.max_age,
            share: Share::default(),
            sandbox: None,
            integrity: Vec::new(),
            description: None,
            keywords: Vec::new(),
            category: None,
            policy: None,
            policies: BTreeMap::new(),
            tools: BTreeMap::new(),
            elicitation: None,
            sampling: None,
            rule_lines: BTreeMap::new(),
        }
    }

    pub(crate) fn read_policy(&mut self, entry: &Entry, reader: &mut TableReader<'_>) {
        self.policy = reader.one_of(entry);
        let line = reader.line_of(entry);
        self.rule_lines.insert("policy".to_owned(), line);
    }

    pub(crate) fn read_policies(&mut self, entry: &Entry, reader: &mut TableReader<'_>) {
        for inner in reader
            .table(entry, r#"{"delete_*": "ask"}"#)
            .unwrap_or_default()
        {
            if let Some(policy) = reader.rule(inner) {
                self.policies.insert(inner.key.clone(), policy);
                let key = format!("policies.{}", inner.key);
                self.rule_lines.insert(key, reader.line_of(inner));
            }
        }
    }

    pub(crate) fn read_tools(&mut self, entry: &Entry, reader: &mut TableReader<'_>) {
        let mut tools = ReadTools {
            tools: &mut self.tools,
            policies: &mut self.policies,
            lines: &mut self.rule_lines,
        };
        tools.table(entry, reader);
    }
}

impl Definition {
    /// Creates a definition with default values for everything except the transport.
    pub(crate) fn plain(transport: Transport, settings: &Settings) -> Self {
        Self {
            transport,
            options: ServerOptions::new(settings),
        }
    }

    /// Returns the client requests that the server's own table permits.
    pub(crate) fn client_requests(&self) -> ClientRequests {
        ClientRequests {
            elicitation: self.options.elicitation.unwrap_or(true),
            sampling: self.options.sampling.unwrap_or(true),
        }
    }

    /// Adds name, origin and trust to the definition.
    pub(crate) fn into_spec(
        self,
        name: ServerName,
        origin: Origin,
        trust_state: TrustState,
        hash: ConfigHash,
    ) -> ServerSpec {
        let client_requests = self.client_requests();
        let options = self.options;
        ServerSpec {
            name,
            transport: self.transport,
            oauth: options.oauth,
            enabled: options.enabled,
            timeouts: options.timeouts,
            ttl: options.ttl,
            max_age: options.max_age,
            share: options.share,
            sandbox: options.sandbox.unwrap_or_default(),
            integrity: options.integrity,
            description: options.description,
            keywords: options.keywords,
            category: options.category,
            policy: options.policy,
            policies: options.policies,
            tools: options.tools,
            rules: ServerRules {
                client_requests,
                lines: options.rule_lines,
                ..ServerRules::default()
            },
            origin,
            trust_state,
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
    let mut server = WrittenServer {
        transport: WrittenTransport::default(),
        enabled: None,
        disabled: None,
        options: ServerOptions::new(settings),
    };
    reader.each_key(entries, SERVER_KEYS, "a server", |reader, entry, read| {
        read(&mut server, entry, reader);
        Some(())
    });
    if let (Some((true, _)), Some((true, entry))) = (server.enabled, server.disabled) {
        reader.invalid(
            entry.key_start,
            "the server is both `enabled` and `disabled`",
            "remove one of the two keys",
        );
    }
    let transport = server.transport.check(entry, reader);
    if reader.failed() {
        return None;
    }
    let disabled = server.disabled.map(|(value, _)| !value);
    let enabled = server.enabled.map(|(value, _)| value).or(disabled);
    server.options.enabled = enabled.unwrap_or(true);
    Some(Definition {
        transport: transport?,
        options: server.options,
    })
}
