//! Collectors that hang, refuse, are overloaded or reject spans: recording never blocks, and memory stays bounded.

use std::time::{Duration, Instant};

use pegboard_model::Recorder;
use pegboard_testkit::{own_rss_kib, wait_until};
use pegboard_trace::{Redactor, Tracer};
use prost::Message;

use crate::collector::{CannedResponse, Collector, LONG, closed_port, hanging};
use crate::facts::{call, plain, record_call, server, trace_id, tracer};
use crate::otlp::{ExportTracePartialSuccess, ExportTraceServiceResponse};

fn to(url: &str) -> Tracer {
    tracer(vec![plain(url)], true, Redactor::default())
}

/// Records many calls with large content.
fn record_many(tracer: &Tracer, count: usize) {
    let server = server();
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000));
    for _ in 0..count {
        let span = tracer.begin(None, &trace_id());
        let mut facts = call(&server, pegboard_model::Outcome::Ok);
        facts.arguments = Some(&large);
        facts.result = Some(&large);
        tracer.call(span.as_ref(), &facts);
    }
}

/// Records many spans for a collector that accepts none: memory stays bounded, and closing is quick.
async fn check_unreachable(url: &str) {
    let tracer = to(url);
    record_many(&tracer, 1000);
    let before = own_rss_kib();
    let count = 20_000;
    record_many(&tracer, count);
    let grown = own_rss_kib().saturating_sub(before);
    // Unbounded, these would take 660 MB. Other tests of this process allocate at the same time.
    assert!(grown < 256 * 1024, "{grown} KiB more");
    let held = (count + 1000) as u64 - tracer.delivered().dropped;
    // 8 MiB of spans with 32 KiB of content each, and a batch of 1 MiB in flight.
    assert!(held < 300, "{held} spans are held");
    let began = Instant::now();
    let delivered = tracer.close(Duration::from_millis(200)).await;
    assert!(
        began.elapsed() < LONG / 2,
        "the end waited {:?}",
        began.elapsed()
    );
    assert_eq!(delivered.sent, 0);
    // A request that was in flight at the deadline may not be counted yet.
    wait_until("every span is counted as dropped", LONG, || {
        tracer.delivered().dropped as usize >= count
    })
    .await;
}

#[tokio::test]
async fn r_obs_02_a_hanging_collector_does_not_delay_requests() {
    let (url, holding) = hanging().await;
    check_unreachable(&url).await;
    holding.abort();
}

#[tokio::test]
async fn r_obs_02_an_unreachable_collector_does_not_delay_requests() {
    check_unreachable(&closed_port().await).await;
}

#[tokio::test]
async fn r_obs_02_an_overloaded_collector_is_asked_again() {
    let checks = [429, 502, 503, 504].map(|status| tokio::spawn(check_overloaded(status)));
    for check in checks {
        check.await.unwrap();
    }
}

async fn check_overloaded(status: u16) {
    let collector = Collector::answering([
        CannedResponse::status(status),
        CannedResponse::status(status),
    ])
    .await;
    let tracer = to(&collector.url);
    record_call(&tracer);
    wait_until("the span is taken", LONG, || tracer.delivered().sent == 1).await;
    let seen = collector.seen();
    assert_eq!(seen.len(), 3, "{status}");
    assert_eq!(seen[0].body, seen[2].body);
    assert_eq!(tracer.delivered().dropped, 0);
}

#[tokio::test]
async fn r_obs_02_a_collector_may_set_the_time_of_the_retry() {
    let later = CannedResponse {
        retry_after: Some("2"),
        ..CannedResponse::status(429)
    };
    let collector = Collector::answering([later]).await;
    let tracer = to(&collector.url);
    record_call(&tracer);
    collector.wait_for_requests(1).await;
    let refused = Instant::now();
    collector.wait_for_requests(2).await;
    assert!(
        refused.elapsed() > Duration::from_millis(1500),
        "{:?}",
        refused.elapsed()
    );
}

#[tokio::test]
async fn a_request_that_is_wrong_is_not_sent_again() {
    for status in [400, 401, 404, 301] {
        let collector = Collector::answering([CannedResponse::status(status)]).await;
        let tracer = to(&collector.url);
        record_call(&tracer);
        wait_until("the span is given up", LONG, || {
            tracer.delivered().dropped == 1
        })
        .await;
        assert_eq!(collector.seen().len(), 1, "{status}");
        // The next batch is sent as usual.
        record_call(&tracer);
        assert_eq!(tracer.close(LONG).await.sent, 1);
    }
}

#[tokio::test]
async fn spans_that_a_collector_rejects_are_counted() {
    let partial = ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess {
            rejected_spans: 2,
            error_message: "too old".into(),
        }),
    };
    let response = CannedResponse {
        body: partial.encode_to_vec(),
        ..CannedResponse::status(200)
    };
    let collector = Collector::answering([response]).await;
    let tracer = to(&collector.url);
    (0..5).for_each(|_| record_call(&tracer));
    let delivered = tracer.close(LONG).await;
    assert_eq!((delivered.sent, delivered.dropped), (3, 2));
}

#[tokio::test]
async fn r_obs_02_closing_sends_the_remaining_spans_without_delay() {
    let collector = Collector::start().await;
    let tracer = to(&collector.url);
    (0..700).for_each(|_| record_call(&tracer));
    let began = Instant::now();
    let delivered = tracer.close(LONG * 10).await;
    assert!(
        began.elapsed() < LONG * 5,
        "the end waited {:?}",
        began.elapsed()
    );
    assert_eq!((delivered.sent, delivered.dropped), (700, 0));
    assert_eq!(collector.spans().len(), 700);
    // Several requests of limited size.
    assert!(collector.seen().len() >= 3);
    record_call(&tracer);
    assert_eq!(tracer.close(LONG).await.dropped, 1);
}

#[tokio::test]
async fn r_obs_02_an_end_that_comes_during_a_request_is_noticed() {
    for spans in [1, 255, 256, 257] {
        let collector = Collector::start().await;
        let tracer = to(&collector.url);
        (0..spans).for_each(|_| record_call(&tracer));
        // The first request is in flight or done, and no more spans follow.
        collector.wait_for_requests(1).await;
        let began = Instant::now();
        assert_eq!(tracer.close(LONG * 10).await.sent, spans);
        assert!(
            began.elapsed() < LONG * 5,
            "the end waited {:?}",
            began.elapsed()
        );
    }
}

#[tokio::test]
async fn one_collector_that_hangs_does_not_keep_spans_from_another() {
    let (url, holding) = hanging().await;
    let collector = Collector::start().await;
    let tracer = tracer(
        vec![plain(&url), plain(&collector.url)],
        false,
        Redactor::default(),
    );
    record_call(&tracer);
    wait_until("the other has it", LONG, || collector.spans().len() == 1).await;
    let delivered = tracer.close(Duration::from_millis(100)).await;
    assert_eq!(delivered.sent, 1);
    holding.abort();
}
