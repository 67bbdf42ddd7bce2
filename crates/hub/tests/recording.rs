//! What the hub records, and how spans are nested.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fake::{FakeConnector, Servers, spec};
use pegboard_catalog::ToolSearch;
use pegboard_hub::{CallRequest, Hub, HubParts, HubSettings, NoApprover, RefreshScope, SessionId};
use pegboard_model::{
    CallFacts, Clock, DiscoveryFacts, Limits, LookupFacts, Outcome, Policy, PolicyFacts, Recorder,
    SearchFacts, ServerSpec, SpanContext, TraceId,
};
use pegboard_store::{MemoryLedger, MemoryStore};
use pegboard_testkit::FakeClock;
use serde_json::value::RawValue;

/// Records every event as `parent>span: what`.
#[derive(Debug, Default)]
struct TextRecorder {
    lines: Mutex<Vec<String>>,
    spans: AtomicU64,
    is_deaf: bool,
}

impl TextRecorder {
    fn add_line(&self, span: Option<&SpanContext>, what: String) {
        let id = |bytes: Option<[u8; 8]>| bytes.map_or(0, u64::from_be_bytes);
        let prefix = match span {
            Some(span) => format!(
                "{}>{}: ",
                id(span.parent_bytes()),
                id(Some(span.span_bytes()))
            ),
            None => String::new(),
        };
        self.lines.lock().unwrap().push(format!("{prefix}{what}"));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

fn outcome(outcome: Outcome<'_>) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::ToolFailed => "tool failed",
        Outcome::Failed(error) => error.reason.code(),
    }
}

impl Recorder for TextRecorder {
    fn is_tracing(&self) -> bool {
        !self.is_deaf
    }

    fn begin(&self, parent: Option<&SpanContext>, trace: &TraceId) -> Option<SpanContext> {
        let id = self.spans.fetch_add(1, Ordering::Relaxed) + 1;
        match parent {
            _ if self.is_deaf => None,
            Some(parent) => Some(parent.child(id)),
            None => SpanContext::root(trace, id),
        }
    }

    fn lookup(&self, span: Option<&SpanContext>, facts: &LookupFacts) {
        self.add_line(span, format!("lookup {}/{}", facts.hits, facts.misses));
    }

    fn discovery(&self, span: Option<&SpanContext>, facts: &DiscoveryFacts<'_>) {
        let (server, tools) = (facts.server, facts.tools.len());
        let lines = format!("discovery {server} {tools} {:?}", facts.cache);
        self.add_line(span, format!("{lines} {}", outcome(facts.outcome)));
    }

    fn search(&self, span: Option<&SpanContext>, facts: &SearchFacts<'_>) {
        self.add_line(span, format!("search {:?}", (facts.names)()));
    }

    fn policy(&self, span: Option<&SpanContext>, facts: &PolicyFacts<'_>) {
        let lines = format!("policy {} {}", facts.tool, facts.decision);
        self.add_line(span, format!("{lines} {}", outcome(facts.outcome)));
    }

    fn call(&self, span: Option<&SpanContext>, facts: &CallFacts<'_>) {
        let lines = format!("call {} {:?}", facts.exposed, facts.transport);
        let lines = format!("{lines} started {}", facts.started);
        self.add_line(span, format!("{lines} {}", outcome(facts.outcome)));
    }
}

struct RecordedHub {
    hub: Hub,
    recorder: Arc<TextRecorder>,
}

async fn recorded_hub(recorder: TextRecorder, specs: Vec<ServerSpec>) -> RecordedHub {
    let (servers, recorder) = (Servers::new(), Arc::new(recorder));
    servers.tools("a", &["one"]);
    servers.tools("b", &["two"]);
    let parts = HubParts {
        ledger: Arc::new(MemoryLedger::new()),
        encoder: None,
        recorder: recorder.clone(),
        store: Arc::new(MemoryStore::new()),
        connector: Arc::new(FakeConnector(servers)),
        clock: Arc::new(FakeClock::at(1_000_000_000)) as Arc<dyn Clock>,
        approver: Arc::new(NoApprover),
        settings: HubSettings::default(),
        limits: Limits::default(),
    };
    let hub = Hub::open(parts, specs).await.unwrap().0;
    RecordedHub { hub, recorder }
}

impl RecordedHub {
    async fn call(&self, tool: &str, span: Option<SpanContext>) {
        let arguments = RawValue::from_string("{}".to_owned()).unwrap();
        let mut request = CallRequest::new(SessionId("s".into()), tool, arguments);
        request.span = span;
        let _ = self.hub.call(&request).await;
    }

    #[track_caller]
    fn check(&self, expected: &[&str]) {
        assert_eq!(self.recorder.take(), expected);
    }
}

#[tokio::test]
async fn r_obs_02_everything_that_a_call_causes_is_nested_below_its_span() {
    let mut denied = spec("b");
    denied.policy = Some(Policy::Deny);
    let recorded = recorded_hub(TextRecorder::default(), vec![spec("a"), denied]).await;
    // The server is undiscovered: it is discovered first, below the call.
    recorded.call("a/one", None).await;
    recorded.check(&[
        "1>2: discovery a 1 Miss ok",
        "1>3: policy a__one allow ok",
        "0>1: call a__one Stdio started true ok",
    ]);
    recorded.call("a/one", None).await;
    recorded.check(&[
        "4>5: policy a__one allow ok",
        "0>4: call a__one Stdio started false ok",
    ]);
    recorded.hub.ensure_known().await;
    recorded.check(&["6>7: discovery b 1 Miss ok", "0>6: lookup 1/1"]);
    recorded.call("b/two", None).await;
    recorded.check(&[
        "8>9: policy b__two deny POLICY_DENIED",
        "0>8: call b__two Stdio started false POLICY_DENIED",
    ]);
    let above = SpanContext::parse(
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000ff-01",
        None,
    );
    recorded.call("a/none", above).await;
    recorded.check(&["255>10: call unknown InProcess started false TOOL_UNKNOWN"]);
    recorded.hub.shutdown().await;
    let newest = &recorded.hub.activity(1, None).await.unwrap()[0];
    let trace = newest.trace.as_ref().map(TraceId::as_str);
    assert_eq!(trace, Some("4bf92f3577b34da6a3ce929d0e0e4736"));
}

#[tokio::test]
async fn r_obs_02_a_lookup_records_hits_and_misses_and_a_search_its_results() {
    let recorded = recorded_hub(TextRecorder::default(), vec![spec("a"), spec("b")]).await;
    recorded.hub.ensure_known().await;
    let lines = recorded.recorder.take();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[2], "0>1: lookup 0/2");
    assert!(
        lines[..2].iter().all(|line| line.starts_with("1>")),
        "{lines:?}"
    );
    recorded.hub.ensure_known().await;
    recorded.check(&["0>4: lookup 2/0"]);
    let finder = recorded.hub.finder(None);
    finder.find(&recorded.hub.catalog(), "two", 5);
    recorded.check(&["0>5: search [\"b__two\"]"]);
    recorded
        .hub
        .refresh(RefreshScope::All, false)
        .await
        .unwrap();
    recorded.check(&["0>6: discovery a 1 Hit ok", "0>7: discovery b 1 Hit ok"]);
    recorded.hub.shutdown().await;
}

#[tokio::test]
async fn r_obs_02_a_recorder_without_spans_receives_the_same_facts() {
    let deaf = TextRecorder {
        is_deaf: true,
        ..TextRecorder::default()
    };
    let recorded = recorded_hub(deaf, vec![spec("a")]).await;
    recorded.hub.ensure_known().await;
    recorded.call("a/one", None).await;
    recorded.check(&[
        "discovery a 1 Miss ok",
        "lookup 0/1",
        "call a__one Stdio started false ok",
    ]);
    recorded.hub.shutdown().await;
}
