//! Calls: results are unchanged, failures have their reason, other servers are not affected.

use std::time::{Duration, Instant};

use pegboard_model::{ErrorClass, Reason};
use pegboard_testkit::script::{Crash, Era, ListChanged, Moment, ResponseShape};
use pegboard_testkit::{Script, methods_in, wait_until};
use pegboard_upstream::CallOutcome;
use serde_json::{Value, json};

use crate::harness::{MarkedServer, SLACK, call, call_within, names, refused, text, value};

/// Connects, calls the tool `a` once with a short timeout, and closes the connection.
async fn call_once(script: &Script) -> Result<CallOutcome, pegboard_model::ToolError> {
    let server = MarkedServer::new(script);
    let upstream = server.connect().await.unwrap();
    let started = Instant::now();
    let outcome = call_within(&*upstream, "a", json!({"x": 1}), Duration::from_secs(2)).await;
    assert!(started.elapsed() < Duration::from_secs(2) + SLACK);
    upstream.close().await;
    server.leaves_nothing().await;
    outcome
}

fn tool_a() -> Script {
    Script::new().tools(["a"])
}

#[tokio::test]
async fn r_reg_06_a_call_reaches_the_tool_with_its_arguments() {
    for era in [Era::Modern, Era::Legacy] {
        let outcome = call_once(&tool_a().era(era)).await.unwrap();
        let echoed: Value = serde_json::from_str(&text(&outcome)).unwrap();
        assert_eq!(echoed, json!({"tool": "a", "arguments": {"x": 1}}));
        assert!(!outcome.is_error);
    }
}

#[tokio::test]
async fn r_sec_01_a_result_is_passed_on_untouched() {
    let script = tool_a().era(Era::Legacy).with(|script| {
        script.call.extra_fields = true;
        script.call.image = true;
        script.call.structured = Some(json!({"b": 1, "a": [1.50, null]}));
    });
    let outcome = call_once(&script).await.unwrap();
    let raw = outcome.result.get();
    assert!(
        raw.contains(r#""x-vendor":{"zeta":1,"alpha":12345678901234567890}"#),
        "{raw}"
    );
    assert!(
        raw.contains(r#""structuredContent":{"b":1,"a":[1.5,null]}"#),
        "{raw}"
    );
    assert_eq!(value(&outcome)["content"][1]["mimeType"], "image/png");
}

#[tokio::test]
async fn r_reg_05_failures_of_calls_have_their_reason() {
    let output = call_once(&tool_a().with(|script| script.call.is_error = true))
        .await
        .unwrap();
    assert!(output.is_error);
    let check = async |script: Script, reasons: &[Reason], class: ErrorClass| {
        assert_eq!(refused(call_once(&script).await, reasons).code, class);
    };
    let (unavailable, failed) = (ErrorClass::Unavailable, ErrorClass::ExecutionFailed);
    let response = |shape| tool_a().answer(Moment::Call, shape);
    check(
        response(ResponseShape::Error(-32603)),
        &[Reason::ServerError],
        failed,
    )
    .await;
    check(
        response(ResponseShape::Error(-32602)),
        &[Reason::ArgsInvalid],
        ErrorClass::InvalidInput,
    )
    .await;
    check(
        tool_a().hang(Moment::Call),
        &[Reason::CallTimeout],
        unavailable,
    )
    .await;
    check(
        tool_a().crash(Moment::Call, 3),
        &[Reason::ServerExited],
        unavailable,
    )
    .await;
    let mid_line = Crash {
        when: Moment::Call,
        code: 0,
        mid_line: true,
    };
    let cut = tool_a().with(|script| script.crash = Some(mid_line));
    check(cut, &[Reason::ServerExited], unavailable).await;
    check(
        response(ResponseShape::Both),
        &[Reason::FrameInvalid],
        unavailable,
    )
    .await;
    check(
        response(ResponseShape::Neither),
        &[Reason::FrameInvalid],
        unavailable,
    )
    .await;
    check(
        response(ResponseShape::Deep(100_000)),
        &[Reason::FrameInvalid],
        unavailable,
    )
    .await;
    check(
        response(ResponseShape::WrongId),
        &[Reason::CallTimeout],
        unavailable,
    )
    .await;
    check(
        response(ResponseShape::Result(json!("text"))),
        &[Reason::FrameInvalid],
        unavailable,
    )
    .await;
    let strange = json!({"content": [], "resultType": "surprise"});
    check(
        response(ResponseShape::Result(strange)),
        &[Reason::FrameInvalid],
        unavailable,
    )
    .await;
}

#[tokio::test]
async fn r_sec_01_a_result_may_be_larger_than_a_list_but_not_endless() {
    let of_mib = |mib: usize| tool_a().with(|script| script.call.result_bytes = Some(mib << 20));
    let server = MarkedServer::new(&of_mib(20));
    let upstream = server.connect().await.unwrap();
    let outcome = call_within(&*upstream, "a", json!({}), Duration::from_secs(30))
        .await
        .unwrap();
    assert_eq!(text(&outcome).len(), 20 << 20);
    upstream.close().await;
    let server = MarkedServer::new(&of_mib(40));
    let upstream = server.connect().await.unwrap();
    let outcome = call_within(&*upstream, "a", json!({}), Duration::from_secs(30)).await;
    refused(outcome, &[Reason::FrameTooLarge]);
    upstream.close().await;
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_01_c12_concurrent_calls_get_their_own_answers_in_any_order() {
    let script = tool_a().with(|script| script.call.reverse = 8);
    let server = MarkedServer::new(&script);
    let upstream = server.connect().await.unwrap();
    let calls = (0..8).map(|number| {
        let upstream = upstream.clone();
        tokio::spawn(async move {
            let outcome = call(&*upstream, "a", json!({"number": number}))
                .await
                .unwrap();
            let echoed: Value = serde_json::from_str(&text(&outcome)).unwrap();
            assert_eq!(echoed["arguments"]["number"], number);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    upstream.close().await;
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_01_c14_requests_of_the_server_are_answered_and_the_call_goes_on() {
    let asks = vec![
        "ping".to_owned(),
        "sampling/createMessage".to_owned(),
        "roots/list".to_owned(),
    ];
    for (era, ping, roots) in [
        (Era::Legacy, "ping -> result", "roots/list -> result"),
        (
            Era::Modern,
            "ping -> error -32601",
            "roots/list -> error -32601",
        ),
    ] {
        let script = tool_a()
            .era(era)
            .with(|script| script.call.client_requests = asks.clone());
        let server = MarkedServer::new(&script);
        let upstream = server.connect().await.unwrap();
        let outcome = value(&call(&*upstream, "a", json!({})).await.unwrap());
        assert_eq!(outcome["content"][1]["text"], ping);
        assert_eq!(
            outcome["content"][2]["text"],
            "sampling/createMessage -> error -32601"
        );
        assert_eq!(outcome["content"][3]["text"], roots);
        assert!(upstream.health().refused_requests >= 1);
        upstream.close().await;
    }
}

#[tokio::test]
async fn r_sec_01_b16_a_server_that_stops_reading_times_out_alone() {
    let script = tool_a().with(|script| script.process.stop_reading_after = Some(1));
    let (stuck, fine) = (MarkedServer::new(&script), MarkedServer::new(&tool_a()));
    let (upstream, other) = (
        stuck.connect().await.unwrap(),
        fine.connect().await.unwrap(),
    );
    let large = json!({"text": "x".repeat(1 << 20)});
    let started = Instant::now();
    let blocked: Vec<_> = (0..4)
        .map(|_| {
            let (upstream, large) = (upstream.clone(), large.clone());
            tokio::spawn(async move {
                call_within(&*upstream, "a", large, Duration::from_secs(2))
                    .await
                    .map(drop)
            })
        })
        .collect();
    assert!(!call(&*other, "a", json!({})).await.unwrap().is_error);
    for outcome in blocked {
        refused(outcome.await.unwrap(), &[Reason::CallTimeout]);
    }
    assert!(
        started.elapsed() < Duration::from_secs(2) + SLACK,
        "{:?}",
        started.elapsed()
    );
    upstream.close().await;
    other.close().await;
    stuck.leaves_nothing().await;
    fine.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_01_a_dropped_call_is_cancelled_and_the_server_stays() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let script = tool_a()
        .count_in(&count)
        .with(|script| script.call.delay_ms = 1_500);
    let server = MarkedServer::new(&script);
    let upstream = server.connect().await.unwrap();
    let dropped = {
        let upstream = upstream.clone();
        tokio::spawn(async move { call(&*upstream, "a", json!({})).await.map(drop) })
    };
    let received = |method: &'static str| {
        let count = count.clone();
        move || methods_in(&count).iter().any(|got| got == method)
    };
    wait_until(
        "the call arrives",
        Duration::from_secs(5),
        received("tools/call"),
    )
    .await;
    dropped.abort();
    wait_until(
        "the cancel arrives",
        Duration::from_secs(5),
        received("notifications/cancelled"),
    )
    .await;
    assert!(!call(&*upstream, "a", json!({})).await.unwrap().is_error);
    assert!(upstream.is_alive());
    upstream.close().await;
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_disc_12_a_flood_of_list_changed_is_counted_and_holds_up_nothing() {
    for era in [Era::Legacy, Era::Modern] {
        let script = tool_a().era(era).with(|script| {
            script.list_changed = Some(ListChanged {
                after: Moment::List,
                times: 20_000,
                pause_ms: 0,
            });
        });
        let server = MarkedServer::new(&script);
        let upstream = server.connect().await.unwrap();
        let changes = upstream.list_changed();
        assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
        let started = Instant::now();
        for number in 0..20 {
            let outcome = call(&*upstream, "a", json!({"number": number}))
                .await
                .unwrap();
            assert!(!outcome.is_error);
        }
        assert!(
            started.elapsed() < SLACK,
            "{era:?}: {:?}",
            started.elapsed()
        );
        wait_until("the changes are seen", SLACK, || *changes.borrow() >= 1).await;
        upstream.close().await;
        server.leaves_nothing().await;
    }
}

#[tokio::test]
async fn r_disc_06_a_conversation_that_ended_says_why() {
    let server = MarkedServer::new(&tool_a().crash(Moment::Call, 9));
    let upstream = server.connect().await.unwrap();
    refused(
        call(&*upstream, "a", json!({})).await,
        &[Reason::ServerExited],
    );
    let ended = tokio::time::timeout(SLACK, upstream.ended())
        .await
        .expect("it has ended");
    assert_eq!(ended.reason, Reason::ServerExited);
    assert!(!upstream.is_alive());
    refused(upstream.list_tools().await, &[Reason::ServerExited]);
    upstream.close().await;
    server.leaves_nothing().await;
}
