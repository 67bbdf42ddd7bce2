//! Servers made of values, which count how many of their instances are alive.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_hub::{ServerPool, ViewContext};
use pegboard_model::{
    Era, Limits, Reason, ServerSpec, ShareScope, SharingDecision, ToolError, ToolResult,
};
use pegboard_testkit::stdio_spec;
use pegboard_upstream::{
    Announcement, CallOptions, CallOutcome, Connect, ConnectHint, ForwardedRequest, Handshake,
    Health, OfferKind, RequestedFromClients, ToolListing, Upstream,
};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

/// All instances of a test.
#[derive(Default)]
pub(crate) struct Fakes {
    /// Living instances by server and project, as far as they must not exist twice.
    live: Mutex<BTreeMap<String, Vec<Arc<Fake>>>>,
    pub(crate) starts: AtomicU64,
    /// How long a start takes, and whether it fails.
    pub(crate) start_time: Mutex<Duration>,
    pub(crate) fails: AtomicBool,
    pub(crate) close_time: Mutex<Duration>,
}

/// One instance.
pub(crate) struct Fake {
    key: String,
    number: u64,
    all: Arc<Fakes>,
    handshake: Handshake,
    ended: watch::Sender<Option<Reason>>,
    announcements: broadcast::Sender<Announcement>,
    pub(crate) watches: Mutex<Vec<(String, bool)>>,
    pub(crate) requests_input: AtomicBool,
    /// Calls run until this is `true`.
    pub(crate) responds: watch::Sender<bool>,
}

impl Fakes {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn live(&self) -> usize {
        self.live.lock().unwrap().values().map(Vec::len).sum()
    }

    pub(crate) fn started(&self) -> u64 {
        self.starts.load(Ordering::SeqCst)
    }

    /// The instances that are alive, oldest first.
    pub(crate) fn instances(&self) -> Vec<Arc<Fake>> {
        let live = self.live.lock().unwrap();
        let mut all: Vec<_> = live.values().flatten().cloned().collect();
        all.sort_by_key(|fake| fake.number);
        all
    }

    fn remove(&self, number: u64) {
        for instances in self.live.lock().unwrap().values_mut() {
            instances.retain(|fake| fake.number != number);
        }
    }
}

impl Fake {
    /// The process exits by itself.
    pub(crate) fn crash(&self) {
        self.all.remove(self.number);
        self.ended.send_replace(Some(Reason::ServerExited));
    }
}

/// The connector of one view.
pub(crate) struct FakeConnector {
    pub(crate) all: Arc<Fakes>,
    pub(crate) project: String,
}

#[async_trait]
impl Connect for FakeConnector {
    async fn connect(
        &self,
        spec: &ServerSpec,
        hint: &ConnectHint,
        budget: Duration,
    ) -> ToolResult<Arc<dyn Upstream>> {
        let takes = *self.all.start_time.lock().unwrap();
        if tokio::time::timeout(budget, tokio::time::sleep(takes))
            .await
            .is_err()
        {
            return Err(ToolError::new(Reason::DiscoveryTimeout, "too slow"));
        }
        if self.all.fails.load(Ordering::SeqCst) {
            return Err(ToolError::new(Reason::SpawnFailed, "it does not start"));
        }
        let number = self.all.starts.fetch_add(1, Ordering::SeqCst);
        let key = match hint.sharing.scope {
            ShareScope::User => spec.name.to_string(),
            ShareScope::Project => format!("{} in {}", spec.name, self.project),
            ShareScope::Session => format!("{} number {number}", spec.name),
        };
        let fake = Arc::new(Fake {
            key: format!("{key} {}", spec.hash),
            number,
            all: self.all.clone(),
            handshake: handshake(),
            ended: watch::Sender::new(None),
            announcements: broadcast::Sender::new(16),
            watches: Mutex::default(),
            requests_input: AtomicBool::new(false),
            responds: watch::Sender::new(true),
        });
        let mut live = self.all.live.lock().unwrap();
        let instances = live.entry(fake.key.clone()).or_default();
        assert!(instances.is_empty(), "two live instances of {}", fake.key);
        instances.push(fake.clone());
        Ok(Arc::new(Running(fake)))
    }
}

fn handshake() -> Handshake {
    Handshake {
        era: Era::Legacy,
        protocol_version: "2025-11-25".to_owned(),
        info: None,
        instructions: None,
        list_changed: false,
        declares_tools: Some(true),
        capabilities: None,
        noise: 0,
    }
}

/// The connection to an instance.
struct Running(Arc<Fake>);

impl Running {
    async fn respond(&self, text: &str) -> ToolResult<CallOutcome> {
        let mut responds = self.0.responds.subscribe();
        let ended = self.ended();
        tokio::select! {
            _ = responds.wait_for(|responds| *responds) => {}
            error = ended => return Err(error),
        }
        let result = serde_json::json!({"number": self.0.number, "text": text}).to_string();
        Ok(CallOutcome::new(RawValue::from_string(result).unwrap()))
    }
}

#[async_trait]
impl Upstream for Running {
    fn handshake(&self) -> &Handshake {
        &self.0.handshake
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        Ok(ToolListing {
            tools: Vec::new(),
            ttl_ms: None,
            private: false,
            pages: 1,
        })
    }

    async fn call(
        &self,
        _tool: &str,
        arguments: &RawValue,
        _options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        self.respond(arguments.get()).await
    }

    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        _options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        self.respond(request.method).await
    }

    async fn list_offers(&self, _kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        Ok(Vec::new())
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.0.announcements.subscribe()
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        let mut watches = self.0.watches.lock().unwrap();
        watches.push((uri.to_owned(), watch));
        Ok(())
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        watch::Sender::new(0).subscribe()
    }

    fn is_alive(&self) -> bool {
        self.0.ended.borrow().is_none()
    }

    async fn ended(&self) -> ToolError {
        let mut ended = self.0.ended.subscribe();
        let reason = ended.wait_for(Option::is_some).await.unwrap().unwrap();
        ToolError::new(reason, "it ended")
    }

    fn health(&self) -> Health {
        Health {
            pid: Some(u32::MAX),
            ..Health::default()
        }
    }

    fn requested(&self) -> RequestedFromClients {
        RequestedFromClients {
            input: self.0.requests_input.load(Ordering::SeqCst),
            roots: false,
        }
    }

    fn recent_stderr(&self) -> String {
        String::new()
    }

    async fn close(&self) {
        self.0.ended.send_if_modified(|ended| {
            let is_new = ended.is_none();
            ended.get_or_insert(Reason::Cancelled);
            is_new
        });
        let takes = *self.0.all.close_time.lock().unwrap();
        tokio::time::sleep(takes).await;
        self.0.all.remove(self.0.number);
    }
}

/// A dropped connection kills its process.
impl Drop for Running {
    fn drop(&mut self) {
        self.0.all.remove(self.0.number);
    }
}

/// A pool over fake servers.
pub(crate) struct PoolFixture {
    pub(crate) fakes: Arc<Fakes>,
    pub(crate) pool: ServerPool,
}

impl PoolFixture {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            fakes: Fakes::new(),
            pool: ServerPool::new(limits),
        }
    }

    /// A view of a project.
    pub(crate) fn view(&self, project: &str) -> Arc<dyn Connect> {
        let connector = FakeConnector {
            all: self.fakes.clone(),
            project: project.to_owned(),
        };
        let context = ViewContext {
            name: project.to_owned(),
            project: Some(project.into()),
            ..ViewContext::default()
        };
        self.pool.view(Arc::new(connector), context)
    }
}

pub(crate) fn spec(name: &str) -> ServerSpec {
    stdio_spec(name, "/bin/fake", [name])
}

pub(crate) fn hint(scope: ShareScope) -> ConnectHint {
    ConnectHint {
        sharing: SharingDecision {
            scope,
            is_configured: true,
            reason: "a test".into(),
        },
        ..ConnectHint::default()
    }
}

pub(crate) async fn connect(
    view: &Arc<dyn Connect>,
    name: &str,
    scope: ShareScope,
) -> ToolResult<Arc<dyn Upstream>> {
    view.connect(&spec(name), &hint(scope), Duration::from_secs(30))
        .await
}
