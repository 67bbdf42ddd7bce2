//! Correct servers over HTTP: eras, sessions, tokens, event streams.

use std::time::Duration;

use pegboard_model::{Era, Reason, ServerSpec, Template, ToolResult, Transport};
use pegboard_testkit::script::{Era as ScriptEra, HttpFaultKind, ListChanged, Moment, Probe};
use pegboard_testkit::{HostileHttp, Script, methods_in, wait_until};
use pegboard_upstream::{Connect as _, ConnectHint, ToolListing};
use serde_json::json;

use crate::harness::{BUDGET, SLACK, call, connector, list_with, names, refused, text};

pub(crate) fn spec(server: &HostileHttp) -> ServerSpec {
    let mut spec = server.spec("remote");
    spec.timeouts.discovery = BUDGET;
    spec.timeouts.connect = BUDGET;
    spec
}

pub(crate) async fn list_http(script: &Script) -> ToolResult<ToolListing> {
    let server = script.serve_http();
    list_with(&connector(), &spec(&server)).await
}

#[tokio::test]
async fn r_disc_02_d01_every_era_is_discovered_over_http() {
    let legacy = || Script::new().era(ScriptEra::Legacy);
    let scripts = [
        (Script::new().era(ScriptEra::Modern), Era::Modern),
        (Script::new(), Era::Modern),
        (legacy(), Era::Legacy),
        (
            legacy().with(|script| script.http.session = true),
            Era::Legacy,
        ),
        (Script::new().probe(Probe::InvalidParams), Era::Legacy),
    ];
    for (script, era) in scripts {
        for sse in [false, true] {
            let server = script
                .clone()
                .tools(["a"])
                .with(|script| script.http.sse = sse)
                .serve_http();
            let upstream = connector()
                .connect(&spec(&server), &ConnectHint::default(), BUDGET)
                .await
                .unwrap();
            assert_eq!(upstream.handshake().era, era, "{script:?}");
            assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
            let outcome = call(&*upstream, "a", json!({"k": "é"})).await.unwrap();
            assert_eq!(text(&outcome), r#"{"tool":"a","arguments":{"k":"é"}}"#);
            upstream.close().await;
        }
    }
}

#[tokio::test]
async fn r_disc_02_a_lost_session_is_opened_again_once() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let script = Script::new()
        .era(ScriptEra::Legacy)
        .tools(["a"])
        .count_in(&count)
        .with(|script| {
            script.http.session = true;
            script.http.lose_session_at = Some(2);
        });
    assert_eq!(names(&list_http(&script).await.unwrap()), ["a"]);
    assert_eq!(
        methods_in(&count)
            .iter()
            .filter(|method| *method == "initialize")
            .count(),
        2
    );
}

#[tokio::test]
async fn r_cfg_08_a_token_opens_the_door_and_never_shows() {
    let script = Script::new()
        .tools(["a"])
        .with(|script| script.http.bearer = Some("canary-4712".into()));
    let server = script.serve_http();
    refused(
        list_with(&connector(), &spec(&server)).await,
        &[Reason::LoginNeeded],
    );
    let with_token = |token: &str| {
        let mut spec = spec(&server);
        if let Transport::Http { bearer, .. } = &mut spec.transport {
            *bearer = Some(Template::literal(token));
        }
        spec
    };
    assert_eq!(
        names(
            &list_with(&connector(), &with_token("canary-4712"))
                .await
                .unwrap()
        ),
        ["a"]
    );
    let error = refused(
        list_with(&connector(), &with_token("wrong-canary-99")).await,
        &[Reason::LoginNeeded],
    );
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

#[tokio::test]
async fn r_disc_12_list_changed_arrives_over_http() {
    for era in [ScriptEra::Modern, ScriptEra::Legacy] {
        let script = Script::new().era(era).tools(["a"]).with(|script| {
            script.http.session = true;
            script.list_changed = Some(ListChanged {
                after: Moment::Start,
                times: 3,
                pause_ms: 0,
            });
        });
        let server = script.serve_http();
        let upstream = connector()
            .connect(&spec(&server), &ConnectHint::default(), BUDGET)
            .await
            .unwrap();
        let changes = upstream.list_changed();
        wait_until(&format!("changes of {era:?}"), SLACK, || {
            *changes.borrow() >= 3
        })
        .await;
        assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
        upstream.close().await;
    }
}

#[tokio::test]
async fn r_reg_05_an_unknown_tool_is_the_callers_mistake_over_http_too() {
    let server = Script::new().tools(["a"]).serve_http();
    let upstream = connector()
        .connect(&spec(&server), &ConnectHint::default(), BUDGET)
        .await
        .unwrap();
    refused(
        call(&*upstream, "b", json!({})).await,
        &[Reason::ArgsInvalid],
    );
    upstream.close().await;
}

#[tokio::test]
async fn r_disc_02_i15_busy_servers_are_reported_after_a_bounded_wait() {
    let busy = |code, retry: &str| {
        let headers = vec![("Retry-After".to_owned(), retry.to_owned())];
        Script::new()
            .tools(["a"])
            .http(Moment::Start, HttpFaultKind::Status { code, headers })
    };
    let long = "9".repeat(10_000);
    for retry in [
        "-1",
        "1000000000000",
        "Fri, 01 Jan 2100 00:00:00 GMT",
        "soon",
        &long,
    ] {
        for code in [429, 503] {
            let limit = BUDGET + SLACK;
            let outcome = tokio::time::timeout(limit, list_http(&busy(code, retry))).await;
            let error = refused(
                outcome.expect("the wait for `Retry-After` is bounded"),
                &[Reason::HttpStatus, Reason::DiscoveryTimeout],
            );
            assert!(error.retryable, "{error:?}");
            assert!(error.message.len() < 4_096, "{}", error.message.len());
        }
    }
}

#[tokio::test]
async fn r_disc_02_a_server_that_hangs_over_http_times_out() {
    for moment in [Moment::Start, Moment::List] {
        let script = Script::new().tools(["a"]).hang(moment);
        let outcome = tokio::time::timeout(2 * BUDGET + SLACK, list_http(&script))
            .await
            .expect("the server's own timeout");
        refused(outcome, &[Reason::DiscoveryTimeout]);
    }
}

#[tokio::test]
async fn r_reg_05_a_slow_call_over_http_times_out_alone() {
    let server = Script::new()
        .tools(["a"])
        .with(|script| script.call.delay_ms = 60_000)
        .serve_http();
    let upstream = connector()
        .connect(&spec(&server), &ConnectHint::default(), BUDGET)
        .await
        .unwrap();
    let slow = crate::harness::call_within(&*upstream, "a", json!({}), Duration::from_millis(500));
    let (outcome, listed) = tokio::join!(slow, upstream.list_tools());
    refused(outcome, &[Reason::CallTimeout]);
    assert_eq!(names(&listed.unwrap()), ["a"]);
    upstream.close().await;
}
