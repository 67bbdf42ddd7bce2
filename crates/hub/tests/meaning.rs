//! Search by meaning: vectors are computed once, stored, and never block; searches are remembered only if they led to
//! a call.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

mod fake;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fake::{FakeConnector, Servers, spec};
use pegboard_catalog::{SemanticCoverage, ToolSearch, ToolVectors};
use pegboard_hub::{
    CallRequest, Encoder, EncoderInput, Hub, HubParts, HubSettings, NoApprover, SessionId,
};
use pegboard_model::{Clock, Limits};
use pegboard_store::{MemoryLedger, MemoryStore, Store};
use pegboard_testkit::{FakeClock, wait_until};
use serde_json::value::RawValue;

const LONG: Duration = Duration::from_secs(30);

/// An encoder for which `zorp` means `alpha`, `blim` means `beta` and `drum` means `gamma`.
#[derive(Default)]
struct FakeEncoder {
    read: AtomicUsize,
    releases: AtomicUsize,
}

const MEANINGS: [[&str; 2]; 3] = [["zorp", "alpha"], ["blim", "beta"], ["drum", "gamma"]];

fn direction(text: &str) -> [u8; 4] {
    let at = MEANINGS
        .iter()
        .position(|words| words.iter().any(|word| text.contains(word)));
    let mut direction = [0; 4];
    direction[at.unwrap_or(3)] = 1;
    direction
}

fn cosine(query: &[f32], packed: &[u8]) -> f32 {
    query
        .iter()
        .zip(packed)
        .map(|(a, b)| a * f32::from(*b))
        .sum()
}

#[derive(Debug)]
struct FakeVectors(Vec<u8>);

impl ToolVectors for FakeVectors {
    fn similarity(&self, query: &[f32], document: &mut [f32], short: &mut [f32]) {
        for (at, packed) in self.0.chunks_exact(4).enumerate() {
            document[at] = cosine(query, packed);
            short[at] = document[at];
        }
    }

    fn server_similarity(&self, _query: &[f32]) -> Option<f32> {
        None
    }
}

impl Encoder for FakeEncoder {
    fn model(&self) -> &str {
        "fake"
    }

    fn query(&self, text: &str) -> Vec<f32> {
        direction(text).map(f32::from).to_vec()
    }

    fn tool(&self, tool: &EncoderInput) -> Vec<u8> {
        self.read.fetch_add(1, Ordering::Relaxed);
        direction(&tool.name).to_vec()
    }

    fn tool_bytes(&self) -> usize {
        4
    }

    fn server(&self, _name: &str, _description: &str) -> Option<Vec<u8>> {
        None
    }

    fn similarity(&self, tools: Vec<u8>, _server: Option<&[u8]>) -> Arc<dyn ToolVectors> {
        Arc::new(FakeVectors(tools))
    }

    fn release_memory(&self) {
        self.releases.fetch_add(1, Ordering::Relaxed);
    }

    fn pack(&self, query: &[f32]) -> Vec<u8> {
        query.iter().map(|number| *number as u8).collect()
    }

    fn cosine(&self, query: &[f32], packed: &[u8]) -> Option<f32> {
        Some(cosine(query, packed))
    }
}

struct Meaningful {
    hub: Hub,
    servers: Arc<Servers>,
    store: Arc<dyn Store>,
    encoder: Arc<FakeEncoder>,
}

async fn opened(store: Arc<dyn Store>, servers: Arc<Servers>, remember: bool) -> Meaningful {
    let encoder = Arc::new(FakeEncoder::default());
    let parts = HubParts {
        store: store.clone(),
        ledger: Arc::new(MemoryLedger::new()),
        connector: Arc::new(FakeConnector(servers.clone())),
        clock: Arc::new(FakeClock::at(1_000_000_000)) as Arc<dyn Clock>,
        approver: Arc::new(NoApprover),
        encoder: Some(encoder.clone()),
        recorder: Arc::new(pegboard_model::NoopRecorder),
        settings: HubSettings {
            remember_searches: remember,
            ..HubSettings::default()
        },
        limits: Limits::default(),
    };
    let (hub, _) = Hub::open(parts, vec![spec("one"), spec("two")])
        .await
        .unwrap();
    Meaningful {
        hub,
        servers,
        store,
        encoder,
    }
}

async fn known(remember: bool) -> Meaningful {
    let servers = Servers::new();
    servers.tools("one", &["do_alpha", "do_beta"]);
    servers.tools("two", &["do_gamma", "do_delta"]);
    let opened = opened(Arc::new(MemoryStore::new()), servers, remember).await;
    opened.hub.ensure_known().await;
    opened
}

impl Meaningful {
    async fn again(&self, remember: bool) -> Self {
        opened(self.store.clone(), self.servers.clone(), remember).await
    }

    async fn ready(&self) {
        let progress = self.hub.index_meaning(LONG, &|_| {}).await;
        assert_eq!(progress.ready, progress.total);
    }

    fn find(&self, session: Option<&str>, text: &str) -> (Vec<String>, SemanticCoverage) {
        let session = session.map(|session| SessionId(session.to_owned()));
        let catalog = self.hub.catalog();
        let found = self.hub.finder(session).find(&catalog, text, 5);
        let names = found.hits.iter().map(|hit| hit.tool.exposed().to_string());
        (names.collect(), found.by_meaning)
    }

    async fn call(&self, session: &str, tool: &str) {
        let arguments = RawValue::from_string("{}".to_owned()).unwrap();
        let request = CallRequest::new(SessionId(session.to_owned()), tool, arguments);
        // The result does not matter here.
        let _ = self.hub.call(&request).await;
    }

    async fn remembered(&self) -> usize {
        self.store.load_queries("fake").await.unwrap().len()
    }
}

#[tokio::test]
async fn r_find_02_words_alone_until_the_vectors_are_there() {
    let fixture = known(false).await;
    let (_, by_meaning) = fixture.find(None, "zorp");
    assert_eq!(by_meaning, SemanticCoverage::None);
    fixture.ready().await;
    let (names, by_meaning) = fixture.find(None, "zorp");
    assert_eq!(by_meaning, SemanticCoverage::All);
    assert_eq!(names[0], "one__do_alpha");
    assert_eq!(fixture.find(None, "drum").0[0], "two__do_gamma");
    let catalog = fixture.hub.catalog();
    let finder = fixture.hub.finder(None).by_words();
    assert_eq!(
        finder.find(&catalog, "zorp", 5).by_meaning,
        SemanticCoverage::None
    );
}

#[tokio::test]
async fn r_find_02_vectors_are_read_once_and_only_for_what_is_new() {
    let fixture = known(false).await;
    fixture.ready().await;
    assert_eq!(fixture.encoder.read.load(Ordering::Relaxed), 4);

    let after = fixture.again(false).await;
    after.hub.load_vectors_once().await;
    assert_eq!(after.find(None, "zorp").0[0], "one__do_alpha");
    assert_eq!(
        after.encoder.read.load(Ordering::Relaxed),
        0,
        "they were kept"
    );

    after
        .servers
        .tools("one", &["do_alpha", "do_beta", "do_more"]);
    let one = spec("one").name;
    after
        .hub
        .refresh(pegboard_hub::RefreshScope::One(one), true)
        .await
        .unwrap();
    after.ready().await;
    assert_eq!(
        after.encoder.read.load(Ordering::Relaxed),
        1,
        "only the new tool"
    );
}

#[tokio::test]
async fn r_find_02_a_server_that_is_discovered_gets_its_vectors_in_the_background() {
    let servers = Servers::new();
    servers.tools("one", &["do_alpha"]);
    servers.tools("two", &["do_gamma"]);
    let fixture = opened(Arc::new(MemoryStore::new()), servers, false).await;
    fixture.hub.index_meaning_in_background();
    fixture.hub.ensure_known().await;
    wait_until("the vectors are there", LONG, || {
        fixture.find(None, "zorp").1 == SemanticCoverage::All
    })
    .await;
    fixture.hub.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_encoder_releases_memory_after_encoding_tools_and_a_while_after_queries() {
    let fixture = known(false).await;
    fixture.hub.index_meaning_in_background();
    let releases = |wanted: usize| {
        let encoder = fixture.encoder.clone();
        wait_until("the encoder releases its memory", 4 * LONG, move || {
            encoder.releases.load(Ordering::Relaxed) == wanted
        })
    };
    releases(1).await;
    assert_eq!(fixture.encoder.read.load(Ordering::Relaxed), 4);
    assert_eq!(fixture.find(None, "zorp").1, SemanticCoverage::All);
    releases(2).await;
    fixture.hub.shutdown().await;
}

#[tokio::test]
async fn a_refresh_that_changes_nothing_keeps_index_and_vectors() {
    let fixture = known(false).await;
    fixture.ready().await;
    fixture
        .hub
        .refresh(pegboard_hub::RefreshScope::All, true)
        .await
        .unwrap();
    assert_eq!(fixture.find(None, "zorp").1, SemanticCoverage::All);
}

#[tokio::test]
async fn a_search_that_led_to_a_call_raises_the_tools_score() {
    let fixture = known(true).await;
    fixture.ready().await;
    fixture.hub.load_vectors_once().await;
    // The word is unknown to the encoder, so the tools are found by name.
    let query = "do";
    let (before, _) = fixture.find(Some("a"), query);
    assert_ne!(before[0], "two__do_gamma");
    fixture.call("a", "two__do_gamma").await;
    assert_eq!(fixture.find(None, query).0[0], "two__do_gamma");

    fixture.hub.shutdown().await;
    let after = fixture.again(true).await;
    after.hub.load_vectors_once().await;
    assert_eq!(
        after.find(None, query).0[0],
        "two__do_gamma",
        "after a restart"
    );
    assert_eq!(after.hub.forget_searches().await.unwrap(), 1);
    assert_eq!(after.find(None, query).0, before);
}

#[tokio::test]
async fn a_search_without_a_call_is_not_remembered() {
    let fixture = known(true).await;
    fixture.ready().await;
    fixture.find(Some("a"), "do");
    fixture.call("b", "two__do_gamma").await;
    fixture.call("a", "two__unknown").await;
    fixture
        .servers
        .change("two", |server| server.crash_on_call = true);
    fixture.call("a", "two__do_delta").await;
    fixture.hub.shutdown().await;
    assert_eq!(fixture.remembered().await, 0);
}

#[tokio::test]
async fn one_search_counts_once_for_a_tool_however_often_it_is_called() {
    let fixture = known(true).await;
    fixture.ready().await;
    fixture.find(Some("a"), "do");
    for _ in 0..5 {
        fixture.call("a", "two__do_gamma").await;
    }
    // The same query adds nothing.
    fixture.find(Some("a"), "do");
    fixture.call("a", "two__do_gamma").await;
    fixture.hub.shutdown().await;
    assert_eq!(fixture.remembered().await, 1);
}

#[tokio::test]
async fn searches_are_stored_only_if_enabled() {
    let fixture = known(false).await;
    fixture.ready().await;
    fixture.find(Some("a"), "do");
    fixture.call("a", "two__do_gamma").await;
    fixture.hub.shutdown().await;
    assert_eq!(fixture.remembered().await, 0);
}

#[tokio::test]
async fn a_taught_query_is_remembered_for_its_tool() {
    let fixture = known(true).await;
    fixture.ready().await;
    let before = fixture.find(None, "zorp").0;
    assert_eq!(before.first().map(String::as_str), Some("one__do_alpha"));
    fixture
        .hub
        .teach_search("zorp", "two/do_delta")
        .await
        .unwrap();
    assert_eq!(
        fixture.find(None, "zorp").0.first().map(String::as_str),
        Some("two__do_delta")
    );
    assert_eq!(fixture.remembered().await, 1);
    // Teaching it twice adds nothing.
    fixture
        .hub
        .teach_search("zorp", "two__do_delta")
        .await
        .unwrap();
    assert_eq!(fixture.remembered().await, 1);
    assert_eq!(fixture.hub.forget_searches().await.unwrap(), 1);
    assert_eq!(fixture.find(None, "zorp").0, before);
}

#[tokio::test]
async fn nothing_is_taught_if_searches_are_not_remembered() {
    let fixture = known(false).await;
    let error = fixture
        .hub
        .teach_search("zorp", "two/do_delta")
        .await
        .unwrap_err();
    assert!(error.remedy.contains("remember_searches"), "{error:?}");
    let fixture = known(true).await;
    for (query, tool) in [(" ", "two/do_delta"), ("zorp", "two/no_such")] {
        assert!(
            fixture.hub.teach_search(query, tool).await.is_err(),
            "{query} {tool}"
        );
    }
}
