//! Memory that a hostile server can make Pegboard use. In its own process and one test at a time, because
//! memory is measured for the whole process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "hostile_upstream/harness.rs"]
mod harness;

use std::time::Duration;

use harness::{BUDGET, MarkedServer, call, connector, list_with, names, refused};
use pegboard_model::Reason;
use pegboard_testkit::script::{HttpFaultKind, Moment, NoiseKind};
use pegboard_testkit::{Script, own_peak_rss_kib, own_rss_kib, wait_until};
use pegboard_upstream::{Connect as _, ConnectHint};
use serde_json::json;

static SERIAL: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Largest memory use caused by one bad server.
const GROWTH_KIB: u64 = 64 * 1024;

/// Runs a future and checks that the peak memory of this process rises by no more than the limit.
async fn bounded<T>(work: impl Future<Output = T>) -> T {
    let _one = SERIAL.lock().await;
    let before = own_rss_kib();
    // Earlier tests may have left a higher peak; writing 5 here resets it.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let outcome = work.await;
    let grown = own_peak_rss_kib().saturating_sub(before);
    assert!(grown <= GROWTH_KIB, "grew by {grown} KiB");
    outcome
}

#[tokio::test]
#[should_panic(expected = "grew by")]
async fn the_measure_sees_what_is_kept_for_a_moment() {
    bounded(async { std::hint::black_box(vec![1_u8; 100 << 20]).len() }).await;
}

#[tokio::test]
async fn r_sec_01_c01_600_megabytes_without_a_line_break_cost_one_limit() {
    for moment in [Moment::Start, Moment::List] {
        let script = Script::new()
            .tools(["a"])
            .noise(moment, NoiseKind::Flood(600_000_000), 1);
        let server = MarkedServer::new(&script);
        let listed = bounded(list_with(&connector(), &server.spec)).await;
        refused(listed, &[Reason::FrameTooLarge]);
        server.leaves_nothing().await;
    }
}

#[tokio::test]
async fn r_sec_01_b11_a_flood_on_stderr_is_kept_in_a_ring() {
    let script = Script::new()
        .tools(["a"])
        .with(|script| script.process.stderr_bytes = 300_000_000);
    let mut server = MarkedServer::new(&script);
    // The flood comes before the first response, and the machine may be slow.
    server.spec.timeouts.discovery = Duration::from_secs(60);
    bounded(async {
        let hint = ConnectHint::default();
        let opened = connector()
            .connect(&server.spec, &hint, Duration::from_secs(60))
            .await;
        let upstream = opened.unwrap();
        assert_eq!(names(&upstream.list_tools().await.unwrap()), ["a"]);
        let kept = upstream.recent_stderr().len();
        assert!(kept > 0 && kept <= 64 * 1024, "{kept}");
        upstream.close().await;
    })
    .await;
    server.leaves_nothing().await;
}

#[tokio::test]
async fn r_sec_01_i01_i03_endless_bodies_over_http_cost_one_limit() {
    for kind in [HttpFaultKind::EndlessBody, HttpFaultKind::EndlessEvent] {
        let server = Script::new()
            .tools(["a"])
            .http(Moment::Start, kind)
            .serve_http();
        let mut spec = server.spec("remote");
        spec.timeouts.discovery = Duration::from_secs(20);
        let listed = bounded(list_with(&connector(), &spec)).await;
        refused(listed, &[Reason::HttpBodyTooLarge, Reason::FrameTooLarge]);
    }
}

#[tokio::test]
async fn r_sec_01_noise_and_strange_answers_are_not_kept() {
    let script = Script::new()
        .tools(["a"])
        .noise(Moment::Call, NoiseKind::Text, 400)
        .noise(Moment::Call, NoiseKind::UnknownResponse, 4_000);
    let server = MarkedServer::new(&script);
    bounded(async {
        let upstream = server.connect().await.unwrap();
        for _ in 0..10 {
            assert!(!call(&*upstream, "a", json!({})).await.unwrap().is_error);
        }
        let health = upstream.health();
        assert_eq!(
            (health.noise_lines, health.in_flight),
            (4_000, 0),
            "{health:?}"
        );
        wait_until("all strange answers are counted", BUDGET, || {
            upstream.health().dropped_frames == 40_000
        })
        .await;
        upstream.close().await;
    })
    .await;
    server.leaves_nothing().await;
}
