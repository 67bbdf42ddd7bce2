//! Output of a server on stdout.

use std::time::Instant;

use pegboard_model::{Limits, Reason};
use pegboard_testkit::Script;
use pegboard_testkit::script::{Era, Moment, NoiseKind, ResponseShape};

use crate::harness::{BUDGET, MarkedServer, concurrently, list, list_limited, names, refused};

#[tokio::test]
async fn r_sec_01_c03_noise_before_and_between_frames_is_counted_and_skipped() {
    let kinds = [
        NoiseKind::Text,
        NoiseKind::Binary,
        NoiseKind::PartialJson,
        NoiseKind::Blank,
        NoiseKind::OtherJson,
        NoiseKind::UnknownResponse,
        NoiseKind::Deep(100_000),
    ];
    for kind in kinds {
        let script = Script::new()
            .tools(["a"])
            .noise(Moment::Start, kind, 3)
            .noise(Moment::List, kind, 2);
        let server = MarkedServer::new(&script);
        let upstream = server
            .connect()
            .await
            .unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        assert_eq!(
            names(&upstream.list_tools().await.unwrap()),
            ["a"],
            "{kind:?}"
        );
        let health = upstream.health();
        let counted = health.noise_lines + health.invalid_frames + health.dropped_frames;
        let expected = if kind == NoiseKind::Blank { 0 } else { 5 };
        assert_eq!(counted, expected, "{kind:?}: {health:?}");
        upstream.close().await;
        server.leaves_nothing().await;
    }
}

#[tokio::test]
async fn r_sec_01_c17_random_lines_are_survived() {
    concurrently((1..=4).map(async |seed| {
        let script = Script::new()
            .tools(["a"])
            .noise(Moment::Start, NoiseKind::Random(seed), 1_500)
            .noise(Moment::List, NoiseKind::Random(seed + 100), 1_500);
        assert_eq!(names(&list(&script).await.unwrap()), ["a"], "seed {seed}");
    }))
    .await;
}

#[tokio::test]
async fn r_sec_01_c03_the_banner_is_reported_with_the_handshake() {
    let server = MarkedServer::new(&Script::new().noise(Moment::Start, NoiseKind::Text, 4));
    let upstream = server.connect().await.unwrap();
    assert_eq!(upstream.handshake().noise, 4);
    upstream.close().await;
}

#[tokio::test]
async fn r_sec_01_a_server_that_writes_only_noise_is_given_up() {
    let limits = Limits {
        stdout_noise_lines: 1_000,
        ..Limits::default()
    };
    let script = Script::new()
        .tools(["a"])
        .noise(Moment::List, NoiseKind::Text, 100_000);
    refused(
        list_limited(&script, limits).await,
        &[Reason::StdoutPollution],
    );
}

#[tokio::test]
async fn r_sec_01_c02_a_line_of_exactly_the_limit_is_accepted_and_one_byte_more_is_not() {
    let limits = Limits {
        frame_bytes: 64 * 1024,
        ..Limits::default()
    };
    // The line break is not part of the line.
    let line_of = |bytes| {
        Script::new()
            .tools(["a"])
            .answer(Moment::List, ResponseShape::Bytes(bytes + 1))
    };
    let exactly = list_limited(&line_of(limits.frame_bytes), limits.clone()).await;
    assert_eq!(names(&exactly.unwrap()), ["a"]);
    let over = list_limited(&line_of(limits.frame_bytes + 1), limits).await;
    refused(over, &[Reason::FrameTooLarge]);
}

#[tokio::test]
async fn r_sec_01_c07_carriage_returns_at_the_end_are_accepted() {
    let script = Script::new()
        .tools(["a"])
        .answer(Moment::Discover, ResponseShape::CrLf)
        .answer(Moment::List, ResponseShape::CrLf);
    assert_eq!(names(&list(&script).await.unwrap()), ["a"]);
}

#[tokio::test]
async fn r_sec_01_c08_a_deeply_nested_entry_is_left_for_admission_to_reject() {
    for era in [Era::Modern, Era::Legacy] {
        let script = Script::new()
            .era(era)
            .answer(Moment::List, ResponseShape::Deep(100_000));
        assert_eq!(list(&script).await.unwrap().tools.len(), 1);
    }
}

#[tokio::test]
async fn r_sec_01_c13_both_or_neither_of_result_and_error_is_invalid_at_once() {
    invalid_at_once(
        Script::new()
            .tools(["a"])
            .answer(Moment::List, ResponseShape::Both),
    )
    .await;
    invalid_at_once(
        Script::new()
            .tools(["a"])
            .answer(Moment::List, ResponseShape::Neither),
    )
    .await;
    invalid_at_once(
        Script::new()
            .tools(["a"])
            .answer(Moment::List, ResponseShape::NoVersion),
    )
    .await;
}

#[tokio::test]
async fn r_sec_01_an_answer_that_is_not_utf8_is_invalid_at_once() {
    invalid_at_once(
        Script::new()
            .tools(["a"])
            .answer(Moment::List, ResponseShape::NotUtf8),
    )
    .await;
}

async fn invalid_at_once(script: Script) {
    let started = Instant::now();
    refused(list(&script).await, &[Reason::FrameInvalid]);
    assert!(
        started.elapsed() < BUDGET,
        "{:?}: not after the time-out",
        started.elapsed()
    );
}

#[tokio::test]
async fn r_sec_01_c10_a_duplicate_key_is_refused() {
    let script = Script::new()
        .tools(["a"])
        .answer(Moment::List, ResponseShape::DuplicateKey);
    invalid_at_once(script).await;
}

#[tokio::test]
async fn r_sec_01_c12_unsolicited_responses_are_dropped() {
    concurrently(
        [ResponseShape::WrongId, ResponseShape::TextId].map(async |shape| {
            let script = Script::new()
                .tools(["a"])
                .answer(Moment::List, shape.clone());
            let server = MarkedServer::new(&script);
            let upstream = server.connect().await.unwrap();
            refused(upstream.list_tools().await, &[Reason::DiscoveryTimeout]);
            let health = upstream.health();
            let counted = health.dropped_frames + health.invalid_frames + health.noise_lines;
            assert_eq!((counted, health.in_flight), (1, 0), "{shape:?}: {health:?}");
            upstream.close().await;
            server.leaves_nothing().await;
        }),
    )
    .await;
}

#[tokio::test]
async fn r_sec_01_c12_the_second_of_two_answers_is_dropped() {
    let script = Script::new()
        .tools(["a"])
        .answer(Moment::List, ResponseShape::Twice);
    let server = MarkedServer::new(&script);
    let upstream = server.connect().await.unwrap();
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
    assert!(
        upstream.health().dropped_frames >= 1,
        "{:?}",
        upstream.health()
    );
    upstream.close().await;
}
