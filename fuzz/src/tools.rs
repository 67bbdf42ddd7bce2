//! Tool definitions of servers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pegboard_catalog::{Catalog, ServerEntry, describe};
use pegboard_guard::{admit, admit_with_known, check_arguments};
use pegboard_model::{
    ConfigHash, DiscoveryStatus, ExposedName, Layer, Limits, Origin, ServerName, ServerRecord,
    ServerSpec, Template, Timeouts, Timestamp, Transport, TrustState,
};
use serde_json::json;
use serde_json::value::RawValue;

/// A trusted stdio server.
pub(crate) fn spec(name: &str) -> ServerSpec {
    ServerSpec {
        name: ServerName::parse(name).unwrap(),
        transport: Transport::Stdio {
            command: Template::literal("true"),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
        },
        enabled: true,
        oauth: None,
        share: Default::default(),
        sandbox: Default::default(),
        integrity: Vec::new(),
        timeouts: Timeouts::default(),
        ttl: Duration::from_secs(300),
        max_age: Duration::from_secs(86_400),
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

/// The record of a successful discovery.
pub(crate) fn record(name: &str) -> ServerRecord {
    ServerRecord {
        status: DiscoveryStatus::Success,
        discovered_at: Some(Timestamp(1_000)),
        ..ServerRecord::undiscovered(ServerName::parse(name).unwrap(), ConfigHash([1; 32]))
    }
}

/// Small limits, so that inputs reach them.
fn limits() -> Limits {
    Limits {
        tool_bytes: 2_000,
        schema_bytes: 1_500,
        schema_depth: 12,
        schema_nodes: 200,
        ..Limits::default()
    }
}

/// The input is an array of definitions. Each is admitted verbatim or rejected, names are unique, limits hold, and the
/// catalog contains exactly the admitted tools. Passes if a tool is admitted.
pub(crate) fn admission(input: &[u8]) -> bool {
    let Ok(raw) = serde_json::from_slice::<Vec<Box<RawValue>>>(input) else {
        return false;
    };
    let limits = limits();
    let server = ServerName::parse("server").unwrap();
    let mut passed = false;
    for over_http in [false, true] {
        let admission = admit(&server, over_http, &raw, &limits);
        assert_eq!(
            admission.tools.len() + admission.rejections.len(),
            raw.len()
        );
        assert!(admission.tools.is_sorted_by(|one, two| one.name < two.name));
        let exposed: BTreeSet<_> = admission.tools.iter().map(|tool| &tool.exposed).collect();
        assert_eq!(exposed.len(), admission.tools.len());
        for tool in &admission.tools {
            assert!(raw.iter().any(|raw| raw.get() == &*tool.definition));
            assert!(tool.definition.len() <= limits.tool_bytes);
            assert!(tool.input_schema().len() <= limits.schema_bytes);
            assert!(tool.summary.chars().count() <= 80, "{}", tool.summary);
            assert!(!tool.summary.contains('\n'), "{}", tool.summary);
            assert!(ExposedName::parse(tool.exposed.as_str()).is_some());
            let _ = check_arguments(tool, &json!({"a": 1, "path": "x"}));
        }
        let known = admit_with_known(&server, over_http, &raw, &admission.tools, &limits);
        assert_eq!(known, admission, "known definitions change nothing");

        let record = ServerRecord {
            tools: admission.tools.clone().into(),
            rejections: admission.rejections.clone().into(),
            ..record("server")
        };
        let entry = ServerEntry::new(Arc::new(spec("server")), Arc::new(record));
        let catalog = Catalog::default().with_server(entry).0;
        let listed: BTreeSet<_> = catalog.tools().map(|tool| tool.exposed().clone()).collect();
        assert_eq!(listed, exposed.into_iter().cloned().collect());
        for tool in catalog.tools() {
            describe(&tool);
        }
        passed |= !admission.tools.is_empty();
    }
    passed
}
