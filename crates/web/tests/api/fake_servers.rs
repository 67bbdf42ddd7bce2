//! Servers in memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_hub::{Hub, HubParts, HubSettings, NoApprover, SystemClock};
use pegboard_model::{Era, Limits, Reason, ServerSpec, ToolError, ToolResult};
use pegboard_store::{MemoryLedger, MemoryStore};
use pegboard_upstream::{
    Announcement, CallOptions, CallOutcome, Connect, ConnectHint, ForwardedRequest, Handshake,
    Health, OfferKind, ToolListing, Upstream,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

/// The reachable servers by name, and the number of starts.
#[derive(Default)]
pub(crate) struct Servers {
    tools: Mutex<BTreeMap<String, Vec<Value>>>,
    pub(crate) starts: AtomicUsize,
}

impl Servers {
    pub(crate) fn set(&self, server: &str, tools: Vec<Value>) {
        self.tools.lock().unwrap().insert(server.to_owned(), tools);
    }

    /// Makes a server unreachable.
    pub(crate) fn remove(&self, server: &str) {
        self.tools.lock().unwrap().remove(server);
    }

    pub(crate) fn starts(&self) -> usize {
        self.starts.load(Ordering::SeqCst)
    }
}

pub(crate) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name} with a text."),
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
    })
}

struct Connector(Arc<Servers>);

#[async_trait]
impl Connect for Connector {
    async fn connect(
        &self,
        spec: &ServerSpec,
        _: &ConnectHint,
        _: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        self.0.starts.fetch_add(1, Ordering::SeqCst);
        let tools = self.0.tools.lock().unwrap();
        let tools = tools.get(spec.name.as_str()).cloned();
        let tools =
            tools.ok_or_else(|| ToolError::new(Reason::SpawnNotFound, "no such command"))?;
        Ok(Arc::new(Running {
            tools,
            handshake: Handshake {
                era: Era::Legacy,
                protocol_version: "2025-11-25".into(),
                info: None,
                instructions: None,
                list_changed: false,
                declares_tools: Some(true),
                capabilities: Some(r#"{"tools":{}}"#.into()),
                noise: 0,
            },
            announce: broadcast::channel(4).0,
            changed: watch::Sender::new(0),
            ended: watch::Sender::new(false),
        }))
    }
}

struct Running {
    tools: Vec<Value>,
    handshake: Handshake,
    announce: broadcast::Sender<Announcement>,
    changed: watch::Sender<u64>,
    ended: watch::Sender<bool>,
}

#[async_trait]
impl Upstream for Running {
    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        let raw = |tool: &Value| RawValue::from_string(tool.to_string()).unwrap();
        Ok(ToolListing {
            tools: self.tools.iter().map(raw).collect(),
            ttl_ms: None,
            private: false,
            pages: 1,
        })
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        _: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let text = format!("{tool} {}", arguments.get());
        let result = json!({"content": [{"type": "text", "text": text}]});
        let result = RawValue::from_string(result.to_string()).unwrap();
        Ok(CallOutcome::new(result))
    }

    async fn request(&self, _: ForwardedRequest<'_>, _: CallOptions) -> ToolResult<CallOutcome> {
        Err(ToolError::new(
            Reason::Internal,
            "not supported in this test",
        ))
    }

    async fn list_offers(&self, _: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        Ok(Vec::new())
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announce.subscribe()
    }

    async fn watch_resource(&self, _: &str, _: bool) -> ToolResult<()> {
        Ok(())
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn is_alive(&self) -> bool {
        !*self.ended.borrow()
    }

    async fn ended(&self) -> ToolError {
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
        ToolError::new(Reason::Cancelled, "closed")
    }

    fn health(&self) -> Health {
        Health::default()
    }

    fn recent_stderr(&self) -> String {
        String::new()
    }

    async fn close(&self) {
        self.ended.send_replace(true);
    }
}

pub(crate) fn spec(name: &str) -> ServerSpec {
    pegboard_testkit::stdio_spec(name, "none", [name])
}

/// A hub with these servers.
pub(crate) async fn hub(servers: &Arc<Servers>, names: &[&str]) -> Hub {
    let parts = HubParts {
        ledger: Arc::new(MemoryLedger::new()),
        encoder: None,
        store: Arc::new(MemoryStore::new()),
        connector: Arc::new(Connector(servers.clone())),
        clock: Arc::new(SystemClock),
        recorder: Arc::new(pegboard_model::NoopRecorder),
        approver: Arc::new(NoApprover),
        settings: HubSettings::default(),
        limits: Limits::default(),
    };
    let specs = names.iter().map(|name| spec(name));
    Hub::open(parts, specs).await.unwrap().0
}
