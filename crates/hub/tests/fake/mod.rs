//! Servers made of values, for testing the hub's rules without processes.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_hub::{Approver, Hub, HubParts, HubSettings, NoApprover, StaleRefresh};
use pegboard_model::{
    Clock, Era, Event, EventKind, Limits, Reason, RpcError, ServerName, ServerSpec, ToolError,
    ToolResult,
};
use pegboard_store::{Ledger, MemoryLedger, MemoryStore, Store};
use pegboard_testkit::{FakeClock, stdio_spec, tool_json};
use pegboard_upstream::{
    Announcement, CallOptions, CallOutcome, Connect, ConnectHint, ForwardedRequest, Handshake,
    Health, MachineLoad, OfferKind, ToolListing, Upstream,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

/// The behaviour of one server.
#[derive(Clone, Default)]
pub(crate) struct Behaviour {
    pub(crate) tools: Vec<Value>,
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) fail_connect: Option<Reason>,
    pub(crate) fail_list: Option<Reason>,
    pub(crate) hang: bool,
    /// The list is read, and its response is held back.
    pub(crate) hang_list: bool,
    pub(crate) crash_on_call: bool,
    /// The capabilities in the handshake; `None` if it has none.
    pub(crate) capabilities: Option<&'static str>,
    pub(crate) prompts: Vec<Value>,
    pub(crate) resources: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    pub(crate) fail_offers: bool,
    /// Prompts and resources are never listed.
    pub(crate) hang_offers: bool,
    /// The next calls are rejected because of their headers.
    pub(crate) header_mismatches: usize,
    /// Watching a resource fails.
    pub(crate) fail_watch: bool,
    /// A request to watch a resource arrives and is never answered.
    pub(crate) hang_watch: bool,
    /// Where the connection panics: `connect`, `list` or `call`.
    pub(crate) panics_in: &'static str,
    /// Results of calls link these resources.
    pub(crate) links: Vec<&'static str>,
    /// The `structuredContent` of results.
    pub(crate) structured: Option<Value>,
}

impl Behaviour {
    pub(crate) fn hanging() -> Self {
        Self {
            hang: true,
            ..Self::default()
        }
    }

    pub(crate) fn failing(reason: Reason) -> Self {
        Self {
            fail_connect: Some(reason),
            ..Self::default()
        }
    }

    pub(crate) fn with_tools(names: &[&str]) -> Self {
        Self {
            tools: names.iter().map(|name| tool_json(name)).collect(),
            ..Self::default()
        }
    }
}

/// All servers of a test, and what happened to them.
#[derive(Default)]
pub(crate) struct Servers {
    behaviours: Mutex<BTreeMap<String, Behaviour>>,
    hung: watch::Sender<u64>,
    pub(crate) starts: Mutex<Vec<String>>,
    pub(crate) hints: Mutex<Vec<Option<Era>>>,
    pub(crate) lists: Mutex<Vec<String>>,
    pub(crate) calls: Mutex<Vec<(String, String)>>,
    pub(crate) options: Mutex<Vec<CallOptions>>,
    /// Server, method, members and name of each forwarded request.
    pub(crate) requests: Mutex<Vec<[String; 4]>>,
    pub(crate) offer_lists: Mutex<Vec<(String, OfferKind)>>,
    pub(crate) watches: Mutex<Vec<(String, String, bool)>>,
    running: Mutex<BTreeMap<String, Arc<Running>>>,
    /// Whether the machine is busy.
    pub(crate) is_busy: AtomicBool,
    /// Observes each call when it arrives.
    pub(crate) on_call: Mutex<Option<OnCall>>,
}

type OnCall = Box<dyn Fn(&str, &str) + Send + Sync>;

struct Running {
    server: String,
    all: Arc<Servers>,
    handshake: Handshake,
    ended: watch::Sender<Option<Reason>>,
    changed: watch::Sender<u64>,
    announcements: broadcast::Sender<Announcement>,
}

impl Servers {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn set(&self, server: &str, behaviour: Behaviour) {
        self.behaviours
            .lock()
            .unwrap()
            .insert(server.to_owned(), behaviour);
        self.hung.send_modify(|count| *count += 1);
    }

    /// Replaces the server's tools.
    pub(crate) fn tools(&self, server: &str, tools: &[&str]) {
        self.set(server, Behaviour::with_tools(tools));
    }

    pub(crate) fn started(&self, server: &str) -> usize {
        self.starts
            .lock()
            .unwrap()
            .iter()
            .filter(|name| *name == server)
            .count()
    }

    pub(crate) fn listed(&self, server: &str) -> usize {
        self.lists
            .lock()
            .unwrap()
            .iter()
            .filter(|name| *name == server)
            .count()
    }

    pub(crate) fn is_running(&self, server: &str) -> bool {
        self.running.lock().unwrap().contains_key(server)
    }

    pub(crate) fn crash(&self, server: &str) {
        let running = self.running.lock().unwrap().remove(server).unwrap();
        running.ended.send_replace(Some(Reason::ServerExited));
    }

    pub(crate) fn announce_change(&self, server: &str) {
        self.running.lock().unwrap()[server]
            .changed
            .send_modify(|count| *count += 1);
    }

    /// Sends an announcement of the server.
    pub(crate) fn emit(&self, server: &str, announcement: Announcement) {
        let running = self.running.lock().unwrap();
        running[server].announcements.send(announcement).unwrap();
    }

    /// Changes the behaviour of a server.
    pub(crate) fn change(&self, server: &str, change: impl FnOnce(&mut Behaviour)) {
        let mut behaviour = self.behaviour(server);
        change(&mut behaviour);
        self.set(server, behaviour);
    }

    fn behaviour(&self, server: &str) -> Behaviour {
        self.behaviours
            .lock()
            .unwrap()
            .get(server)
            .cloned()
            .unwrap_or_default()
    }

    /// Waits as long as the server hangs in this way.
    async fn while_hanging(&self, server: &str, hangs: impl Fn(&Behaviour) -> bool) {
        let mut changes = self.hung.subscribe();
        while hangs(&self.behaviour(server)) {
            changes.changed().await.unwrap();
        }
    }
}

pub(crate) struct FakeConnector(pub(crate) Arc<Servers>);

#[async_trait]
impl Connect for FakeConnector {
    async fn connect(
        &self,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        let server = spec.name.to_string();
        self.0.starts.lock().unwrap().push(server.clone());
        self.0.hints.lock().unwrap().push(hint.era);
        if tokio::time::timeout(budget, self.0.while_hanging(&server, |b| b.hang))
            .await
            .is_err()
        {
            return Err(ToolError::new(Reason::DiscoveryTimeout, "it hangs").at_server(&spec.name));
        }
        assert_ne!(self.0.behaviour(&server).panics_in, "connect");
        if let Some(reason) = self.0.behaviour(&server).fail_connect {
            return Err(ToolError::new(reason, "it does not start").at_server(&spec.name));
        }
        let running = Arc::new(Running {
            server: server.clone(),
            all: self.0.clone(),
            handshake: Handshake {
                era: Era::Modern,
                protocol_version: "2026-07-28".into(),
                info: None,
                instructions: None,
                list_changed: true,
                declares_tools: None,
                capabilities: self.0.behaviour(&server).capabilities.map(Arc::from),
                noise: 0,
            },
            ended: watch::Sender::new(None),
            changed: watch::Sender::new(0),
            announcements: broadcast::Sender::new(1024),
        });
        self.0
            .running
            .lock()
            .unwrap()
            .insert(server, running.clone());
        Ok(running)
    }

    fn load(&self) -> MachineLoad {
        match self.0.is_busy.load(Ordering::Relaxed) {
            true => MachineLoad::High,
            false => MachineLoad::Low,
        }
    }
}

#[async_trait]
impl Upstream for Running {
    fn handshake(&self) -> &Handshake {
        &self.handshake
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        self.all.lists.lock().unwrap().push(self.server.clone());
        let behaviour = self.all.behaviour(&self.server);
        assert_ne!(behaviour.panics_in, "list");
        if let Some(reason) = behaviour.fail_list {
            return Err(ToolError::new(reason, "it does not list"));
        }
        self.all
            .while_hanging(&self.server, |behaviour| behaviour.hang_list)
            .await;
        let raw = |tool: &Value| RawValue::from_string(tool.to_string()).unwrap();
        let tools = behaviour.tools.iter().map(raw).collect();
        Ok(ToolListing {
            tools,
            ttl_ms: behaviour.ttl_ms,
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
        let call = (self.server.clone(), tool.to_owned());
        self.all.calls.lock().unwrap().push(call);
        if let Some(look) = &*self.all.on_call.lock().unwrap() {
            look(tool, arguments.get());
        }
        self.all.options.lock().unwrap().push(options);
        assert_ne!(self.all.behaviour(&self.server).panics_in, "call");
        if self.all.behaviour(&self.server).header_mismatches > 0 {
            let change = |behaviour: &mut Behaviour| behaviour.header_mismatches -= 1;
            self.all.change(&self.server, change);
            let rpc = RpcError {
                code: -32020,
                message: "header mismatch".into(),
                data: None,
            };
            return Err(ToolError::new(Reason::ServerError, "refused").with_rpc(rpc));
        }
        if self.all.behaviour(&self.server).crash_on_call {
            self.all.crash(&self.server);
            return Err(ToolError::new(Reason::ServerExited, "it ended"));
        }
        let text = format!("{}:{tool}:{}", self.server, arguments.get());
        let mut content = vec![serde_json::json!({"type": "text", "text": text})];
        for uri in self.all.behaviour(&self.server).links {
            content.push(serde_json::json!({"type": "resource_link", "uri": uri, "name": uri}));
        }
        let mut result = serde_json::json!({"content": content});
        if let Some(structured) = self.all.behaviour(&self.server).structured {
            result["structuredContent"] = structured;
        }
        let result = RawValue::from_string(result.to_string()).unwrap();
        Ok(CallOutcome::new(result))
    }

    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let (method, members) = (request.method.to_owned(), request.members.to_owned());
        let name = request.name.unwrap_or_default().to_owned();
        let request = [self.server.clone(), method, members, name];
        self.all.requests.lock().unwrap().push(request.clone());
        self.all.options.lock().unwrap().push(options);
        if self.all.behaviour(&self.server).crash_on_call {
            self.all.crash(&self.server);
            return Err(ToolError::new(Reason::ServerExited, "it ended"));
        }
        let result = format!(r#"{{"of":"{}",  "kept":[1.0]}}"#, self.server);
        Ok(CallOutcome::new(RawValue::from_string(result).unwrap()))
    }

    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        let asked = (self.server.clone(), kind);
        self.all.offer_lists.lock().unwrap().push(asked);
        let behaviour = self.all.behaviour(&self.server);
        if behaviour.fail_offers {
            return Err(ToolError::new(Reason::ServerError, "it has no such list"));
        }
        self.all
            .while_hanging(&self.server, |behaviour| behaviour.hang_offers)
            .await;
        let list = match kind {
            OfferKind::Prompts => behaviour.prompts,
            OfferKind::Resources => behaviour.resources,
            OfferKind::Templates => behaviour.templates,
        };
        let raw = |offer: &Value| RawValue::from_string(offer.to_string()).unwrap();
        Ok(list.iter().map(raw).collect())
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announcements.subscribe()
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        if self.all.behaviour(&self.server).fail_watch {
            return Err(ToolError::new(Reason::ServerError, "it does not watch"));
        }
        let watched = (self.server.clone(), uri.to_owned(), watch);
        self.all.watches.lock().unwrap().push(watched);
        if watch && self.all.behaviour(&self.server).hang_watch {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn is_alive(&self) -> bool {
        self.ended.borrow().is_none()
    }

    async fn ended(&self) -> ToolError {
        let mut ended = self.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await.unwrap().unwrap();
        ToolError::new(reason, "it ended")
    }

    fn health(&self) -> Health {
        Health {
            pid: Some(7),
            ..Health::default()
        }
    }

    fn recent_stderr(&self) -> String {
        String::new()
    }

    async fn close(&self) {
        self.ended.send_replace(Some(Reason::Cancelled));
        let mut running = self.all.running.lock().unwrap();
        if running
            .get(&self.server)
            .is_some_and(|r| std::ptr::eq(&raw const **r, self))
        {
            running.remove(&self.server);
        }
    }
}

/// A hub over fake servers.
pub(crate) struct HubFixture {
    pub(crate) hub: Hub,
    pub(crate) servers: Arc<Servers>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) ledger: Arc<dyn Ledger>,
}

pub(crate) fn spec(name: &str) -> ServerSpec {
    stdio_spec(name, "fake", [name])
}

impl HubFixture {
    pub(crate) async fn with(specs: Vec<ServerSpec>, settings: HubSettings) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let clock = Arc::new(FakeClock::at(1_000_000_000));
        Self::over(specs, settings, Servers::new(), store, clock).await
    }

    pub(crate) async fn new(names: &[&str]) -> Self {
        Self::with(
            names.iter().map(|name| spec(name)).collect(),
            HubSettings::default(),
        )
        .await
    }

    /// A hub with `stale_refresh = "always"`.
    pub(crate) async fn strict(name: &str) -> Self {
        let settings = HubSettings {
            stale_refresh: StaleRefresh::Always,
            ..HubSettings::default()
        };
        Self::with(vec![spec(name)], settings).await
    }

    pub(crate) async fn over(
        specs: Vec<ServerSpec>,
        settings: HubSettings,
        servers: Arc<Servers>,
        store: Arc<dyn Store>,
        clock: Arc<FakeClock>,
    ) -> Self {
        Self::asking(specs, settings, servers, (store, clock), NoApprover).await
    }

    /// A hub with an approver.
    pub(crate) async fn asking(
        specs: Vec<ServerSpec>,
        settings: HubSettings,
        servers: Arc<Servers>,
        (store, clock): (Arc<dyn Store>, Arc<FakeClock>),
        approver: impl Approver + 'static,
    ) -> Self {
        let ledger: Arc<dyn Ledger> = Arc::new(MemoryLedger::new());
        let parts = HubParts {
            ledger: ledger.clone(),
            encoder: None,
            recorder: Arc::new(pegboard_model::NoopRecorder),
            store: store.clone(),
            connector: Arc::new(FakeConnector(servers.clone())),
            clock: clock.clone() as Arc<dyn Clock>,
            approver: Arc::new(approver),
            settings,
            limits: Limits {
                list_changed_interval: Duration::from_millis(300),
                ..Limits::default()
            },
        };
        let (hub, notices) = Hub::open(parts, specs).await.unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        Self {
            hub,
            servers,
            store,
            clock,
            ledger,
        }
    }

    /// The same store opened again, as after a restart.
    pub(crate) async fn reopened(&self, specs: Vec<ServerSpec>) -> Self {
        let (servers, store) = (Servers::new(), self.store.clone());
        Self::over(
            specs,
            HubSettings::default(),
            servers,
            store,
            self.clock.clone(),
        )
        .await
    }

    /// Another hub with the same store and ledger, as in another process.
    pub(crate) async fn sharing_ledger(&self, specs: Vec<ServerSpec>) -> Self {
        let parts = HubParts {
            ledger: self.ledger.clone(),
            encoder: None,
            recorder: Arc::new(pegboard_model::NoopRecorder),
            store: self.store.clone(),
            connector: Arc::new(FakeConnector(self.servers.clone())),
            clock: self.clock.clone() as Arc<dyn Clock>,
            approver: Arc::new(NoApprover),
            settings: HubSettings {
                review: pegboard_model::ReviewMode::Default,
                ..HubSettings::default()
            },
            limits: Limits::default(),
        };
        let (hub, _) = Hub::open(parts, specs).await.unwrap();
        Self {
            hub,
            servers: self.servers.clone(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            ledger: self.ledger.clone(),
        }
    }

    /// The exposed names of all listed tools.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.hub
            .catalog()
            .tools()
            .map(|tool| tool.exposed().to_string())
            .collect()
    }

    pub(crate) fn entry(&self, server: &str) -> Arc<pegboard_catalog::ServerEntry> {
        let name = ServerName::parse(server).unwrap();
        self.hub.catalog().server(&name).unwrap().clone()
    }
}

/// The names of all events so far.
pub(crate) fn event_names(
    events: &mut tokio::sync::broadcast::Receiver<Event>,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    while let Ok(event) = events.try_recv() {
        let json = serde_json::to_value(&event).unwrap();
        assert_eq!(event.trace.as_str().len(), 32);
        names.insert(json["event"].as_str().unwrap().to_owned());
    }
    names
}

/// Waits for an event of a kind.
pub(crate) async fn wait_for(
    events: &mut tokio::sync::broadcast::Receiver<Event>,
    matches: impl Fn(&EventKind) -> bool,
) -> Event {
    let search = async {
        loop {
            let event = events.recv().await.unwrap();
            if matches(&event.kind) {
                return event;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), search)
        .await
        .expect("the event never came")
}
