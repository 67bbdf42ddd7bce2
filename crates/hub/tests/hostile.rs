//! The hub with real processes that misbehave: whatever one server does, the others are discovered, known tools stay
//! and are marked stale, the status and the code report the failure, and no process is left.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use pegboard_hub::{
    CallRequest, Hub, HubParts, HubSettings, NoApprover, RefreshScope, SessionId, SystemClock,
};
use pegboard_model::{DiscoveryStatus, ErrorClass, Limits, NoSecrets, Reason, ServerSpec};
use pegboard_store::{MemoryStore, SqliteStore, StateDir, Store};
use pegboard_testkit::script::{
    Cursors, Era, Grandchild, ListChanged, Malformed, Moment, NoiseKind, Probe,
};
use pegboard_testkit::{Script, processes_with_marker, server, starts_in, wait_until, with_env};
use pegboard_upstream::{ClientInfo, Connector, ConnectorConfig, NoLogs};
use serde_json::value::RawValue;

const DISCOVERY: Duration = Duration::from_secs(3);
/// Additional time on a loaded machine.
const SLACK: Duration = Duration::from_secs(15);

async fn hub(store: Arc<dyn Store>, specs: Vec<ServerSpec>) -> Hub {
    let limits = Limits {
        list_changed_interval: Duration::from_millis(500),
        ..Limits::default()
    };
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
    let parts = HubParts {
        ledger: Arc::new(pegboard_store::MemoryLedger::new()),
        encoder: None,
        recorder: Arc::new(pegboard_model::NoopRecorder),
        store,
        connector: Arc::new(connector),
        clock: Arc::new(SystemClock),
        approver: Arc::new(NoApprover),
        settings: HubSettings::default(),
        limits,
    };
    Hub::open(parts, specs).await.unwrap().0
}

/// A spec whose processes can be found by a marker.
fn marked(mut spec: ServerSpec, marker: &str) -> ServerSpec {
    spec.timeouts.discovery = DISCOVERY;
    spec.timeouts.call = DISCOVERY;
    with_env(spec, "PEGBOARD_TEST_MARKER", marker)
}

fn marker() -> String {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    format!("hub-hostile-{}-{number}-end", std::process::id())
}

async fn nothing_left(marker: &str) {
    wait_until("no process is left", SLACK, || {
        processes_with_marker(marker).is_empty()
    })
    .await;
}

fn tools(hub: &Hub) -> Vec<String> {
    hub.catalog()
        .tools()
        .map(|tool| tool.exposed().to_string())
        .collect()
}

/// First a valid list of two tools, then the fault: the good server is discovered, the bad one fails with one of
/// these reasons, and its tools stay and are stale.
#[track_caller]
fn check(
    fault: impl FnOnce(Script) -> Script,
    reasons: &'static [Reason],
) -> impl Future<Output = ()> {
    let good_script = Script::new().tools(["fine"]);
    let bad_script = fault(Script::new().tools(["one", "two"]));
    async move {
        let marker = marker();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let bad = marked(bad_script.stdio_spec("bad"), &marker);
        let good = marked(good_script.stdio_spec("good"), &marker);
        // The same definition, well-behaved at first, so that its tools are known.
        let mut before = marked(
            Script::new().tools(["one", "two"]).stdio_spec("bad"),
            &marker,
        );
        before.hash = bad.hash;
        let first = hub(store.clone(), vec![before]).await;
        first.refresh(RefreshScope::All, true).await.unwrap()[0]
            .result
            .as_ref()
            .unwrap();
        first.shutdown().await;

        let hub = hub(store, vec![bad, good]).await;
        let started = Instant::now();
        let outcomes = hub.refresh(RefreshScope::All, true).await.unwrap();
        assert!(
            started.elapsed() < 2 * DISCOVERY + SLACK,
            "took {:?}",
            started.elapsed()
        );
        let error = outcomes[0].result.as_ref().unwrap_err();
        assert!(reasons.contains(&error.reason), "{}: {error}", error.reason);
        assert_eq!(error.code, ErrorClass::Unavailable);
        assert!(
            error.message.contains("bad") && !error.remedy.is_empty(),
            "{error:?}"
        );
        assert_eq!(
            outcomes[1].result.as_ref().unwrap().tools,
            1,
            "the good server is not held up"
        );
        assert_eq!(tools(&hub), ["bad__one", "bad__two", "good__fine"]);
        let entry = hub.catalog().server(&server("bad")).unwrap().clone();
        assert_eq!(entry.status(), DiscoveryStatus::Failed);
        assert!(entry.stale, "what is known is marked stale");
        assert_eq!(
            entry.record.last_error.as_ref().unwrap().reason,
            error.reason
        );
        hub.shutdown().await;
        nothing_left(&marker).await;
    }
}

use Reason::*;

#[tokio::test(flavor = "multi_thread")]
async fn r_disc_03_r_sec_01_hangs_end_in_a_time_out_and_keep_what_is_known() {
    let hangs = |moment| {
        check(
            move |s| s.era(Era::Legacy).hang(moment),
            &[DiscoveryTimeout],
        )
    };
    let modern = |moment| {
        check(
            move |s| s.era(Era::Modern).hang(moment),
            &[DiscoveryTimeout],
        )
    };
    tokio::join!(
        hangs(Moment::Start),
        hangs(Moment::Initialize),
        hangs(Moment::List),
        modern(Moment::List),
        modern(Moment::Message(1)),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r_disc_03_r_sec_01_crashes_and_floods_keep_what_is_known() {
    tokio::join!(
        check(|s| s.crash(Moment::List, 3), &[ServerExited]),
        check(|s| s.crash(Moment::Message(1), 3), &[ServerExited]),
        check(|s| s.crash(Moment::Start, 3), &[ServerExited]),
        check(
            |s| s.noise(Moment::List, NoiseKind::Flood(600_000_000), 1),
            &[FrameTooLarge]
        ),
        check(
            |s| s.noise(Moment::Start, NoiseKind::Flood(600_000_000), 1),
            &[FrameTooLarge]
        ),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r_disc_03_r_sec_01_endless_pages_keep_what_is_known() {
    let pages = |cursors| {
        move |s: Script| {
            s.with(|s| {
                s.list.page_size = Some(1);
                s.list.cursors = cursors;
            })
        }
    };
    tokio::join!(
        check(pages(Cursors::Repeated), &[PaginationLoop]),
        check(
            pages(Cursors::EndlessEmpty),
            &[ListTooLarge, PaginationLoop, DiscoveryTimeout]
        ),
        check(
            pages(Cursors::Endless),
            &[ListTooLarge, PaginationLoop, DiscoveryTimeout]
        ),
        check(
            |s| s.with(|s| {
                s.list.page_size = Some(1);
                s.list.fail_page = Some(2)
            }),
            &[DiscoveryFailed]
        ),
        check(
            |s| s.with(|s| s.list.tools_are = serde_json::json!("none")),
            &[DiscoveryFailed]
        ),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r_sec_01_a_malformed_tool_is_rejected_alone() {
    let marker = marker();
    let kinds = [
        Malformed::SchemaBoolean,
        Malformed::HintText,
        Malformed::IconsObject,
        Malformed::MetaArray,
        Malformed::NameNumber,
        Malformed::OutputBoolean,
        Malformed::SchemaMissing,
        Malformed::SchemaNull,
    ];
    let script = kinds
        .into_iter()
        .fold(Script::new().tools(["good", "fine"]), Script::malformed);
    let spec = marked(script.stdio_spec("mixed"), &marker);
    let hub = hub(Arc::new(MemoryStore::new()), vec![spec]).await;
    let outcomes = hub.refresh(RefreshScope::All, true).await.unwrap();
    let found = outcomes[0].result.as_ref().unwrap();
    assert_eq!(found.rejected.len(), 6, "{:?}", found.rejected);
    assert!(
        found
            .rejected
            .iter()
            .all(|r| matches!(r.reason, ToolMalformed | SchemaInvalid | ToolRejectedName))
    );
    let names = tools(&hub);
    assert!(names.contains(&"mixed__good".to_owned()) && names.contains(&"mixed__fine".to_owned()));
    assert_eq!(
        names.len(),
        4,
        "a tool without a schema takes any object: {names:?}"
    );
    hub.shutdown().await;
    nothing_left(&marker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn noise_late_and_silent_servers_are_discovered_all_the_same() {
    let marker = marker();
    let scripts = [
        (
            "noisy",
            Script::new().noise(Moment::Start, NoiseKind::Text, 50),
        ),
        ("silent", Script::new().probe(Probe::Silent)),
        ("exits", Script::new().probe(Probe::Exit)),
        ("late", Script::new().era(Era::Modern).start_delay_ms(1500)),
        (
            "late_legacy",
            Script::new().era(Era::Legacy).start_delay_ms(1500),
        ),
    ];
    let specs = scripts.into_iter().map(|(name, script)| {
        let mut spec = marked(script.tools(["one"]).stdio_spec(name), &marker);
        spec.timeouts.discovery = SLACK;
        spec
    });
    let hub = hub(Arc::new(MemoryStore::new()), specs.collect()).await;
    for outcome in hub.refresh(RefreshScope::All, true).await.unwrap() {
        assert!(
            outcome.result.is_ok(),
            "{}: {:?}",
            outcome.server,
            outcome.result
        );
    }
    assert_eq!(tools(&hub).len(), 5);
    hub.shutdown().await;
    nothing_left(&marker).await;
}

async fn call(hub: &Hub, tool: &str) -> Result<String, Reason> {
    let arguments = RawValue::from_string("{}".into()).unwrap();
    let request = CallRequest::new(SessionId("t".into()), tool, arguments);
    let outcome = hub.call(&request).await.map_err(|error| error.reason)?;
    Ok(outcome.result.get().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_killed_is_started_again_and_a_hanging_call_ends() {
    let (marker, folder) = (marker(), tempfile::tempdir().unwrap());
    let counts = folder.path().join("counts");
    let steady = Script::new().tools(["one"]).count_in(&counts);
    let hanging = Script::new().tools(["one"]).hang(Moment::Call);
    let specs = vec![
        marked(steady.stdio_spec("steady"), &marker),
        marked(hanging.stdio_spec("hanging"), &marker),
    ];
    let hub = hub(Arc::new(MemoryStore::new()), specs).await;
    hub.refresh(RefreshScope::All, true).await.unwrap();
    assert!(call(&hub, "steady__one").await.is_ok());
    let pid = hub.health()[1].connection.as_ref().unwrap().pid.unwrap();
    let kill = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(kill.unwrap().success());
    wait_until("its end is noticed", SLACK, || {
        hub.health()[1].connection.is_none()
    })
    .await;
    assert!(call(&hub, "steady__one").await.is_ok(), "started again");
    assert_eq!(
        starts_in(&counts).len(),
        3,
        "once for the list, twice for calls"
    );
    assert_eq!(call(&hub, "hanging__one").await, Err(CallTimeout));
    hub.shutdown().await;
    nothing_left(&marker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_disc_12_a_flood_of_list_changed_is_coalesced() {
    let (marker, folder) = (marker(), tempfile::tempdir().unwrap());
    let counts = folder.path().join("counts");
    let script = Script::new().tools(["one"]).count_in(&counts).with(|s| {
        s.list_changed = Some(ListChanged {
            after: Moment::Call,
            times: 20_000,
            pause_ms: 0,
        });
    });
    let hub = hub(
        Arc::new(MemoryStore::new()),
        vec![marked(script.stdio_spec("flood"), &marker)],
    )
    .await;
    hub.refresh(RefreshScope::All, true).await.unwrap();
    let lists = || {
        pegboard_testkit::methods_in(&counts)
            .iter()
            .filter(|m| *m == "tools/list")
            .count()
    };
    let started = Instant::now();
    assert!(call(&hub, "flood__one").await.is_ok());
    wait_until("the change is followed", SLACK, || lists() >= 2).await;
    assert!(call(&hub, "flood__one").await.is_ok(), "calls go on");
    let allowed = 7 + started.elapsed().as_millis() / 500;
    assert!(
        (lists() as u128) <= allowed,
        "{} lists for 20,000 notices",
        lists()
    );
    hub.shutdown().await;
    nothing_left(&marker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r_sec_04_stubborn_processes_and_their_children_are_gone_after_shutdown() {
    let marker = marker();
    let stubborn = Script::new().tools(["one"]).with(|s| {
        s.process.ignore_term = true;
        s.process.ignore_eof = true;
    });
    let grandchild = |kind| {
        Script::new()
            .tools(["one"])
            .with(|s| s.process.grandchild = Some(kind))
    };
    let specs = vec![
        marked(stubborn.stdio_spec("stubborn"), &marker),
        marked(
            grandchild(Grandchild::SameGroup).stdio_spec("parent"),
            &marker,
        ),
        marked(
            grandchild(Grandchild::OwnSession).stdio_spec("escaper"),
            &marker,
        ),
    ];
    let hub = hub(Arc::new(MemoryStore::new()), specs).await;
    for tool in ["stubborn__one", "parent__one", "escaper__one"] {
        assert!(call(&hub, tool).await.is_ok(), "{tool}");
    }
    // A grandchild shows no environment for a moment during `exec`.
    wait_until("three servers and two grandchildren", SLACK, || {
        processes_with_marker(&marker).len() >= 5
    })
    .await;
    hub.shutdown().await;
    assert_eq!(
        processes_with_marker(&marker),
        Vec::<u32>::new(),
        "gone when shutdown returns"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r_disc_11_r_store_06_two_stores_on_one_folder_start_a_cold_server_once() {
    let (marker, folder) = (marker(), tempfile::tempdir().unwrap());
    let counts = folder.path().join("counts");
    let script = Script::new()
        .tools(["one"])
        .start_delay_ms(300)
        .count_in(&counts);
    let spec = marked(script.stdio_spec("cold"), &marker);
    let open = || {
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        Arc::new(SqliteStore::open(&state).unwrap().0) as Arc<dyn Store>
    };
    let (one, two) = (
        hub(open(), vec![spec.clone()]).await,
        hub(open(), vec![spec]).await,
    );
    let (a, b) = tokio::join!(
        one.refresh(RefreshScope::All, true),
        two.refresh(RefreshScope::All, true)
    );
    assert!(a.unwrap()[0].result.is_ok() && b.unwrap()[0].result.is_ok());
    assert_eq!(starts_in(&counts).len(), 1);
    assert_eq!(tools(&one), tools(&two));
    one.shutdown().await;
    two.shutdown().await;
    nothing_left(&marker).await;
}
