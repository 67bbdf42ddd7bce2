//! Two hubs with one real server process: every result, progress notification and log message reaches its own client.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use pegboard_hub::{
    CallRequest, Hub, HubParts, HubSettings, NoApprover, RefreshScope, ServerPool, SessionId,
    SystemClock, ViewContext,
};
use pegboard_model::{Limits, NoSecrets, NoopRecorder, RpcError, ServerSpec, Share, ShareScope};
use pegboard_store::{MemoryLedger, MemoryStore, Store};
use pegboard_testkit::script::Era;
use pegboard_testkit::{Script, processes_with_marker, wait_until, with_env};
use pegboard_upstream::{
    Caller, ClientCapabilities, ClientInfo, Connector, ConnectorConfig, NoLogs,
};
use serde_json::value::RawValue;

const CALLS_PER_HUB: u64 = 5_000;
const AT_ONCE: usize = 16;
/// Additional time on a loaded machine.
const SLACK: Duration = Duration::from_secs(30);

/// A hub with a view of the pool.
async fn hub(pool: &ServerPool, name: &str, store: Arc<dyn Store>, spec: ServerSpec) -> Hub {
    let limits = Limits::default();
    let connector = Connector::new(ConnectorConfig {
        limits: limits.clone(),
        secrets: Arc::new(NoSecrets),
        environment: std::env::vars().collect(),
        env_allow: Vec::new(),
        work_dirs: None,
        protected: Vec::new(),
        trial: None,
        logs: Arc::new(NoLogs),
        client: ClientInfo {
            name: "test".into(),
            version: "1".into(),
        },
    });
    let context = ViewContext {
        name: name.to_owned(),
        project: Some("/project".into()),
        ..ViewContext::default()
    };
    let parts = HubParts {
        ledger: Arc::new(MemoryLedger::new()),
        encoder: None,
        recorder: Arc::new(NoopRecorder),
        store,
        connector: pool.view(Arc::new(connector), context),
        clock: Arc::new(SystemClock),
        approver: Arc::new(NoApprover),
        settings: HubSettings::default(),
        limits,
    };
    let hub = Hub::open(parts, [spec]).await.unwrap().0;
    hub.refresh(RefreshScope::All, true).await.unwrap();
    hub
}

/// The client of one call. Both hubs use the same session id.
struct Client {
    /// The text that only this call sends.
    own: String,
    progress: AtomicU64,
    messages: AtomicU64,
    /// Notifications that belong to another call.
    crossed: Mutex<Vec<String>>,
    asked: AtomicU64,
    capabilities: ClientCapabilities,
}

impl Client {
    fn new(own: String) -> Arc<Self> {
        Arc::new(Self {
            own,
            progress: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            crossed: Mutex::default(),
            asked: AtomicU64::new(0),
            capabilities: ClientCapabilities::parse(r#"{"elicitation":{},"roots":{}}"#),
        })
    }

    fn of_hub(&self) -> &str {
        self.own.split(' ').next().unwrap()
    }
}

#[async_trait::async_trait]
impl Caller for Client {
    fn session(&self) -> &str {
        "client-1"
    }

    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: &RawValue) {
        self.progress.fetch_add(1, Ordering::SeqCst);
        if !params.get().contains(&self.own) {
            self.crossed.lock().unwrap().push(params.get().to_owned());
        }
    }

    fn message(&self, params: &RawValue) {
        self.messages.fetch_add(1, Ordering::SeqCst);
        // A session's calls share its log messages; another session's must not arrive.
        if !params.get().contains(self.of_hub()) {
            self.crossed.lock().unwrap().push(params.get().to_owned());
        }
    }

    async fn send_request(
        &self,
        _method: &str,
        _params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(RawValue::from_string(r#"{"action":"accept","content":{}}"#.to_owned()).unwrap())
    }
}

fn request(client: &Arc<Client>) -> CallRequest {
    let arguments = serde_json::json!({"text": client.own}).to_string();
    let arguments = RawValue::from_string(arguments).unwrap();
    let mut request = CallRequest::new(SessionId("client-1".into()), "s__echo", arguments);
    request.caller = Some(client.clone());
    request
}

fn shared(script: Script, marker: &str) -> ServerSpec {
    let mut spec = with_env(script.stdio_spec("s"), "PEGBOARD_TEST_MARKER", marker);
    spec.share = Share::User;
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn r_gate_04_nothing_of_10_000_calls_of_two_hubs_reaches_the_wrong_client() {
    let marker = format!("pool-attribution-{}-end", std::process::id());
    let mut script = Script::new().tools(["echo"]);
    script.era = Era::Legacy;
    script.call.progress = 1;
    script.call.echoes_in_messages = true;
    let spec = shared(script, &marker);
    let pool = ServerPool::new(Limits::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let one = hub(&pool, "one", store.clone(), spec.clone()).await;
    let two = hub(&pool, "two", store, spec).await;
    let run = async |hub: &Hub, name: &str| {
        let calls = (0..CALLS_PER_HUB).map(|number| {
            let client = Client::new(format!("{name} {number} end"));
            async move {
                let outcome = hub.call(&request(&client)).await.unwrap();
                assert!(outcome.result.get().contains(&client.own), "{}", client.own);
                assert_eq!(client.progress.load(Ordering::SeqCst), 1);
                let crossed = client.crossed.lock().unwrap();
                assert!(crossed.is_empty(), "{} got {crossed:?}", client.own);
                client.messages.load(Ordering::SeqCst)
            }
        });
        let calls = futures_util::stream::iter(calls).buffer_unordered(AT_ONCE);
        calls.fold(0, async |sum, messages| sum + messages).await
    };
    // Alone, so that log messages can be attributed; then both at once.
    let alone = Client::new("alone 1 end".to_owned());
    one.call(&request(&alone)).await.unwrap();
    assert_eq!(alone.messages.load(Ordering::SeqCst), 1);
    tokio::join!(run(&one, "one"), run(&two, "two"));
    assert_eq!(
        processes_with_marker(&marker).len(),
        1,
        "one process serves both"
    );
    let infos = pool.instances();
    assert_eq!(infos.len(), 1);
    assert_eq!(
        (infos[0].scope, infos[0].leases.len()),
        (ShareScope::User, 2)
    );
    assert!(infos[0].memory_bytes.unwrap() > 0 && infos[0].pid.is_some());
    one.shutdown().await;
    assert_eq!(
        processes_with_marker(&marker).len(),
        1,
        "the other hub still uses it"
    );
    two.shutdown().await;
    pool.released().await;
    assert!(processes_with_marker(&marker).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn r_gate_04_a_server_that_asks_is_asked_by_one_session_at_a_time() {
    let marker = format!("pool-asking-{}-end", std::process::id());
    let mut script = Script::new().tools(["echo"]);
    script.era = Era::Legacy;
    script.call.client_requests = vec!["elicitation/create".to_owned()];
    let mut spec = shared(script, &marker);
    spec.share = Share::Auto;
    let pool = ServerPool::new(Limits::default());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let one = hub(&pool, "one", store.clone(), spec.clone()).await;
    let two = hub(&pool, "two", store.clone(), spec.clone()).await;
    let call = async |hub: &Hub, name: &str| {
        let client = Client::new(format!("{name} end"));
        let outcome = hub.call(&request(&client)).await.unwrap();
        let text = outcome.result.get().to_owned();
        (
            client.asked.load(Ordering::SeqCst),
            text.contains("-> result"),
        )
    };
    assert_eq!(call(&one, "first").await, (1, true));
    // From now on the sessions take turns, so the recipient is always clear.
    let calls = (0..40).map(|n| call(if n % 2 == 0 { &one } else { &two }, "next"));
    for answered in futures_util::future::join_all(calls).await {
        assert_eq!(answered, (1, true));
    }
    assert_eq!(pool.instances().len(), 1);
    assert!(pool.instances()[0].takes_turns);
    // Both hubs have learnt it, and so has the store.
    for hub in [&one, &two] {
        let catalog = hub.catalog();
        let entry = catalog.servers().next().unwrap();
        assert_eq!(entry.sharing().scope, ShareScope::Session);
        assert!(entry.record.learnt.asks_clients);
    }
    let stored = || async {
        let record = store.load_server(&spec.name, &spec.hash).await.unwrap();
        record.is_some_and(|record| record.learnt.asks_clients)
    };
    let deadline = tokio::time::Instant::now() + SLACK;
    while !stored().await {
        assert!(tokio::time::Instant::now() < deadline, "it is not stored");
        tokio::task::yield_now().await;
    }
    one.shutdown().await;
    two.shutdown().await;
    wait_until("no process is left", SLACK, || {
        processes_with_marker(&marker).is_empty()
    })
    .await;
}
