//! Fake servers defined by closures, so that a test shows in one place what its server does.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use pegboard_hub::{Hub, HubParts, HubSettings, NoApprover, SystemClock};
use pegboard_model::{ClientRequests, Era, Limits, Reason, ServerSpec, ToolError, ToolResult};
use pegboard_store::MemoryStore;
use pegboard_upstream::{
    Announcement, CallOptions, CallOutcome, Connect, ConnectHint, ForwardedRequest, Handshake,
    Health, OfferKind, OutcomeKind, ToolListing, Upstream,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

type Called = BoxFuture<'static, ToolResult<CallOutcome>>;
type OnCall = Arc<dyn Fn(String, Value, CallOptions) -> Called + Send + Sync>;
type OnRequest = Arc<dyn Fn(String, Value, CallOptions) -> Called + Send + Sync>;

/// The definition of a fake server.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    pub(crate) era: Era,
    pub(crate) tools: Vec<Value>,
    /// Tools that change while the server runs. They replace the others in the list.
    pub(crate) changing: Option<Arc<Mutex<Vec<Value>>>>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    pub(crate) capabilities: &'static str,
    pub(crate) client_requests: ClientRequests,
    on_call: OnCall,
    on_request: OnRequest,
}

impl Server {
    pub(crate) fn new(name: &'static str, tools: &[&str]) -> Self {
        Self {
            name,
            era: Era::Legacy,
            tools: tools.iter().map(|name| tool(name)).collect(),
            changing: None,
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            capabilities: r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}"#,
            client_requests: ClientRequests::default(),
            on_call: Arc::new(|tool, arguments, _| {
                Box::pin(async move { Ok(text(&format!("{tool} {arguments}"))) })
            }),
            on_request: Arc::new(|method, members, _| {
                let result = json!({"method": method, "members": members});
                Box::pin(async move { Ok(outcome(result)) })
            }),
        }
    }

    pub(crate) fn modern(mut self) -> Self {
        self.era = Era::Modern;
        self
    }

    pub(crate) fn on_call<F>(
        mut self,
        does: impl Fn(String, Value, CallOptions) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ToolResult<CallOutcome>> + Send + 'static,
    {
        self.on_call =
            Arc::new(move |tool, arguments, options| Box::pin(does(tool, arguments, options)));
        self
    }

    pub(crate) fn on_request<F>(
        mut self,
        does: impl Fn(String, Value, CallOptions) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ToolResult<CallOutcome>> + Send + 'static,
    {
        self.on_request =
            Arc::new(move |method, members, options| Box::pin(does(method, members, options)));
        self
    }
}

pub(crate) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("Does {name} with a text."),
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
            "required": ["text"],
        },
        "x-vendor": {"b": 1, "a": 2.0},
    })
}

pub(crate) fn outcome(result: Value) -> CallOutcome {
    let kind = match result["resultType"].as_str() {
        Some("input_required") => OutcomeKind::InputRequired,
        _ => OutcomeKind::Complete,
    };
    let mut outcome = CallOutcome::new(RawValue::from_string(result.to_string()).unwrap());
    (outcome.is_error, outcome.kind) = (result["isError"] == true, kind);
    outcome
}

pub(crate) fn text(text: &str) -> CallOutcome {
    outcome(json!({"content": [{"type": "text", "text": text}]}))
}

/// All servers of a test and their recorded activity.
#[derive(Default)]
pub(crate) struct Servers {
    servers: Mutex<BTreeMap<&'static str, Server>>,
    pub(crate) starts: AtomicUsize,
    pub(crate) watched: Mutex<Vec<(String, bool)>>,
    /// The last list of each changing server.
    pub(crate) listed: Mutex<BTreeMap<&'static str, Vec<Value>>>,
    announce: Mutex<BTreeMap<&'static str, broadcast::Sender<Announcement>>>,
}

impl Servers {
    pub(crate) fn announce(&self, server: &str, announcement: Announcement) {
        self.announce.lock().unwrap()[server]
            .send(announcement)
            .unwrap();
    }
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
        let server = self
            .0
            .servers
            .lock()
            .unwrap()
            .get(spec.name.as_str())
            .cloned();
        let server =
            server.ok_or_else(|| ToolError::new(Reason::SpawnNotFound, "no such command"))?;
        let announce = self
            .0
            .announce
            .lock()
            .unwrap()
            .entry(server.name)
            .or_insert_with(|| broadcast::channel(16).0)
            .clone();
        let handshake = Handshake {
            era: server.era,
            protocol_version: "2025-11-25".into(),
            info: None,
            instructions: Some(format!("I am {}.", server.name)),
            list_changed: false,
            declares_tools: Some(true),
            capabilities: Some(server.capabilities.into()),
            noise: 0,
        };
        Ok(Arc::new(Running {
            server,
            handshake,
            all: self.0.clone(),
            announce,
            changed: watch::Sender::new(0),
            ended: watch::Sender::new(false),
        }))
    }
}

struct Running {
    server: Server,
    handshake: Handshake,
    all: Arc<Servers>,
    announce: broadcast::Sender<Announcement>,
    changed: watch::Sender<u64>,
    ended: watch::Sender<bool>,
}

fn raw(values: &[Value]) -> Vec<Box<RawValue>> {
    values
        .iter()
        .map(|value| RawValue::from_string(value.to_string()).unwrap())
        .collect()
}

#[async_trait]
impl Upstream for Running {
    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        let tools = match &self.server.changing {
            Some(changing) => {
                let tools = changing.lock().unwrap().clone();
                let mut listed = self.all.listed.lock().unwrap();
                listed.insert(self.server.name, tools.clone());
                raw(&tools)
            }
            None => raw(&self.server.tools),
        };
        Ok(ToolListing {
            tools,
            ttl_ms: None,
            private: false,
            pages: 1,
        })
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let arguments = serde_json::from_str(arguments.get()).unwrap();
        (self.server.on_call)(tool.to_owned(), arguments, options).await
    }

    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let members = serde_json::from_str(&format!("{{{}}}", request.members)).unwrap();
        (self.server.on_request)(request.method.to_owned(), members, options).await
    }

    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        Ok(match kind {
            OfferKind::Prompts => raw(&self.server.prompts),
            OfferKind::Resources => raw(&self.server.resources),
            OfferKind::Templates => raw(&self.server.templates),
        })
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announce.subscribe()
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        self.all
            .watched
            .lock()
            .unwrap()
            .push((uri.to_owned(), watch));
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

pub(crate) fn specs(servers: &[Server]) -> Vec<ServerSpec> {
    let spec = |server: &Server| {
        let mut spec = pegboard_testkit::stdio_spec(server.name, "none", [server.name]);
        spec.rules.client_requests = server.client_requests;
        spec
    };
    servers.iter().map(spec).collect()
}

pub(crate) async fn hub(servers: Vec<Server>) -> (Hub, Arc<Servers>) {
    let (parts, specs, all) = parts(servers);
    let hub = Hub::open(parts, specs).await.unwrap().0;
    (hub, all)
}

/// A hub over discovered servers whose catalog is not loaded yet.
pub(crate) async fn unread_hub(servers: Vec<Server>) -> Hub {
    let (parts, specs, _) = parts(servers);
    let store = parts.store.clone();
    let (first, _) = Hub::open(parts, specs.clone()).await.unwrap();
    first.ensure_known().await;
    let records = store.load().await.unwrap().records;
    assert_eq!(records.len(), specs.len());
    let (mut parts, ..) = self::parts(Vec::new());
    parts.store = store;
    Hub::with_lazy_records(parts, move || records, specs)
}

pub(crate) fn parts(servers: Vec<Server>) -> (HubParts, Vec<ServerSpec>, Arc<Servers>) {
    let all = Arc::new(Servers::default());
    let specs = specs(&servers);
    *all.servers.lock().unwrap() = servers
        .into_iter()
        .map(|server| (server.name, server))
        .collect();
    let parts = HubParts {
        ledger: Arc::new(pegboard_store::MemoryLedger::new()),
        encoder: None,
        recorder: Arc::new(pegboard_model::NoopRecorder),
        store: Arc::new(MemoryStore::new()),
        connector: Arc::new(Connector(all.clone())),
        clock: Arc::new(SystemClock),
        approver: Arc::new(NoApprover),
        settings: HubSettings::default(),
        limits: Limits::default(),
    };
    (parts, specs, all)
}
