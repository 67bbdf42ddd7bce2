//! Eras, probes and versions, and servers that fail during the handshake.

use std::time::{Duration, Instant};

use pegboard_model::{Era, Reason};
use pegboard_testkit::script::{Crash, Era as ScriptEra, Moment, Probe, ResponseShape};
use pegboard_testkit::{Script, methods_in, starts_in};
use pegboard_upstream::ConnectHint;

use crate::harness::{MarkedServer, SLACK, concurrently, connector, list, names, refused};

async fn era_of(script: Script) -> Era {
    let server = MarkedServer::new(&script.tools(["a"]));
    let upstream = server.connect().await.unwrap();
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    let era = upstream.handshake().era;
    upstream.close().await;
    server.leaves_nothing().await;
    era
}

#[tokio::test]
async fn r_disc_02_d01_every_era_is_discovered() {
    assert_eq!(
        era_of(Script::new().era(ScriptEra::Modern)).await,
        Era::Modern
    );
    assert_eq!(
        era_of(Script::new().era(ScriptEra::Both)).await,
        Era::Modern
    );
    assert_eq!(
        era_of(Script::new().probe(Probe::MethodNotFound)).await,
        Era::Legacy
    );
    assert_eq!(
        era_of(Script::new().probe(Probe::InvalidParams)).await,
        Era::Legacy
    );
    for code in [-32600, -32000, 1] {
        let odd = Script::new()
            .era(ScriptEra::Legacy)
            .answer(Moment::Discover, ResponseShape::Error(code));
        assert_eq!(era_of(odd).await, Era::Legacy, "{code}");
    }
}

#[tokio::test]
async fn r_disc_02_d02_a_server_that_ignores_the_probe_is_probed_again_soon() {
    let started = Instant::now();
    assert_eq!(
        era_of(Script::new().probe(Probe::Silent)).await,
        Era::Legacy
    );
    assert!(
        started.elapsed() < Duration::from_secs(2) + SLACK,
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn r_disc_02_a_known_legacy_server_is_not_probed_again() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let server = MarkedServer::new(
        &Script::new()
            .probe(Probe::Silent)
            .tools(["a"])
            .count_in(&count),
    );
    let hint = ConnectHint {
        era: Some(Era::Legacy),
        protocol_version: Some("2025-11-25".into()),
        ..Default::default()
    };
    let upstream = server.connect_with(&connector(), &hint).await.unwrap();
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    upstream.close().await;
    assert_eq!(
        methods_in(&count),
        ["initialize", "notifications/initialized", "tools/list"]
    );
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_disc_02_a_known_modern_server_is_listed_by_one_request() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let server = MarkedServer::new(
        &Script::new()
            .era(ScriptEra::Modern)
            .tools(["a"])
            .count_in(&count),
    );
    let hint = ConnectHint {
        era: Some(Era::Modern),
        protocol_version: Some("2026-07-28".into()),
        ..Default::default()
    };
    let upstream = server.connect_with(&connector(), &hint).await.unwrap();
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    upstream.close().await;
    assert_eq!(methods_in(&count), ["tools/list"]);
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_disc_02_a_wrong_era_hint_causes_a_retry_and_no_failure() {
    for (hint, script) in [
        (Era::Modern, Script::new().era(ScriptEra::Legacy)),
        (Era::Legacy, Script::new().era(ScriptEra::Modern)),
    ] {
        let server = MarkedServer::new(&script.tools(["a"]));
        let hint = ConnectHint {
            era: Some(hint),
            protocol_version: None,
            ..Default::default()
        };
        let upstream = server.connect_with(&connector(), &hint).await.unwrap();
        assert_eq!(
            names(&upstream.list_tools().await.unwrap()),
            ["a"],
            "{hint:?}"
        );
        assert_ne!(Some(upstream.handshake().era), hint.era);
        upstream.close().await;
        server.leaves_nothing().await;
    }
}

#[tokio::test]
async fn r_disc_02_a_server_that_exits_on_the_probe_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let listed = list(
        &Script::new()
            .probe(Probe::Exit)
            .tools(["a"])
            .count_in(&count),
    )
    .await;
    assert_eq!(names(&listed.unwrap()), ["a"]);
    assert_eq!(starts_in(&count).len(), 2);
}

#[tokio::test]
async fn r_disc_02_a_modern_server_may_be_slow_to_start() {
    let script = Script::new().era(ScriptEra::Modern).start_delay_ms(1_800);
    assert_eq!(era_of(script).await, Era::Modern);
    assert_eq!(
        era_of(Script::new().era(ScriptEra::Legacy).start_delay_ms(1_800)).await,
        Era::Legacy
    );
}

#[tokio::test]
async fn r_disc_02_d03_unknown_versions_are_refused() {
    for version in ["1999-01-01", "", "9999-12-31", &"v".repeat(10_240)] {
        let script = Script::new().era(ScriptEra::Legacy).with(|script| {
            script.protocol_version = Some(version.to_owned());
        });
        let error = refused(list(&script).await, &[Reason::VersionUnsupported]);
        assert!(
            error.message.contains("2026-07-28"),
            "names the supported revisions: {error}"
        );
        assert!(error.message.len() < 4_096, "{}", error.message.len());
    }
    let modern = Script::new().era(ScriptEra::Modern).with(|script| {
        script.supported_versions = Some(vec!["2099-01-01".to_owned()]);
    });
    refused(list(&modern).await, &[Reason::VersionUnsupported]);
}

#[tokio::test]
async fn r_disc_02_a_server_that_hangs_ends_in_a_time_out_wherever_it_hangs() {
    let moments = [
        Moment::Start,
        Moment::Discover,
        Moment::Initialize,
        Moment::List,
    ];
    concurrently(moments.map(async |moment| {
        let mut script = Script::new().tools(["a"]).hang(moment);
        if moment == Moment::Initialize {
            script.era = ScriptEra::Legacy;
        }
        refused(list(&script).await, &[Reason::DiscoveryTimeout]);
    }))
    .await;
}

#[tokio::test]
async fn r_disc_02_a_server_that_crashes_ends_in_server_exited_wherever_it_crashes() {
    let crashes = [
        (Moment::Start, false),
        (Moment::List, false),
        (Moment::List, true),
        (Moment::Message(1), false),
        (Moment::Message(2), true),
    ];
    concurrently(crashes.map(async |(when, mid_line)| {
        let script = Script::new().tools(["a"]).with(|script| {
            script.crash = Some(Crash {
                when,
                code: 7,
                mid_line,
            })
        });
        refused(list(&script).await, &[Reason::ServerExited]);
    }))
    .await;
}

#[tokio::test]
async fn r_disc_02_a_refused_handshake_is_reported_as_such() {
    for shape in [
        ResponseShape::Error(-32603),
        ResponseShape::Result(serde_json::json!("no handshake")),
    ] {
        let script = Script::new()
            .era(ScriptEra::Legacy)
            .answer(Moment::Initialize, shape);
        refused(list(&script).await, &[Reason::HandshakeFailed]);
    }
}
