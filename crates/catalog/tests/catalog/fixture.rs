//! Small servers to build catalogs from.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pegboard_catalog::{Catalog, ServerEntry};
use pegboard_guard::admit;
use pegboard_model::{
    ConfigHash, DiscoveryStatus, Layer, Limits, Origin, ServerName, ServerRecord, ServerSpec,
    Template, Timeouts, Timestamp, Tool, Transport, TrustState,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(crate) fn name(text: &str) -> ServerName {
    ServerName::parse(text).unwrap()
}

pub(crate) fn spec(server: &str) -> ServerSpec {
    ServerSpec {
        name: name(server),
        transport: Transport::Stdio {
            command: Template::literal("true"),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
        },
        oauth: None,
        enabled: true,
        timeouts: Timeouts::default(),
        ttl: Duration::from_secs(300),
        max_age: Duration::from_secs(86_400),
        share: Default::default(),
        sandbox: Default::default(),
        integrity: Vec::new(),
        description: None,
        keywords: Vec::new(),
        category: None,
        policy: None,
        policies: BTreeMap::new(),
        tools: BTreeMap::new(),
        rules: Default::default(),
        origin: Origin {
            layer: Layer::User,
            file: None,
            line: None,
        },
        trust_state: TrustState::Granted,
        hash: ConfigHash([1; 32]),
    }
}

pub(crate) fn tools(server: &str, definitions: &[Value]) -> Vec<Tool> {
    let raw: Vec<_> = definitions
        .iter()
        .map(|tool| RawValue::from_string(tool.to_string()).unwrap())
        .collect();
    let admission = admit(&name(server), false, &raw, &Limits::default());
    assert!(
        admission.rejections.is_empty(),
        "{:?}",
        admission.rejections
    );
    admission.tools
}

pub(crate) fn record(server: &str, definitions: &[Value]) -> ServerRecord {
    ServerRecord {
        status: DiscoveryStatus::Success,
        discovered_at: Some(Timestamp(1_000)),
        tools: tools(server, definitions).into(),
        ..ServerRecord::undiscovered(name(server), ConfigHash([1; 32]))
    }
}

/// A server whose tools have only names.
pub(crate) fn entry(server: &str, names: &[&str]) -> ServerEntry {
    let definitions: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
    ServerEntry::new(
        Arc::new(spec(server)),
        Arc::new(record(server, &definitions)),
    )
}

/// A server with this configuration.
pub(crate) fn configured(spec: ServerSpec, definitions: &[Value]) -> ServerEntry {
    let record = record(spec.name.as_str(), definitions);
    ServerEntry::new(Arc::new(spec), Arc::new(record))
}

/// A catalog of lines such as `github: create_issue list_issues`.
pub(crate) fn catalog(lines: &[&str]) -> Catalog {
    lines.iter().fold(Catalog::default(), |catalog, line| {
        let (server, names) = line.split_once(':').unwrap();
        let names: Vec<&str> = names.split_whitespace().collect();
        catalog.with_server(entry(server, &names)).0
    })
}

pub(crate) fn exposed(catalog: &Catalog) -> Vec<&str> {
    catalog
        .tools()
        .map(|view| view.exposed().as_str())
        .collect()
}
