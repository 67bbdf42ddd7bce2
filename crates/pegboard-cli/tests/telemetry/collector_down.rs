//! Hanging and missing collectors: requests are not delayed, memory stays bounded, and the program exits in time.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use pegboard_testkit::rss_kib;
use serde_json::json;

use crate::collector::Collector;
use crate::serving::Serving;
use crate::support::{Home, TIMEOUT};

/// Accepts connections and never responds, for the lifetime of the test process.
fn hanging() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        let held: Vec<_> = listener.incoming().collect();
        drop(held);
    });
    url
}

/// Returns an address without a listener.
fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("http://{}", listener.local_addr().expect("its address"))
}

fn machine(collector: &str) -> Home {
    let mut home = Home::new();
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
    home.add_example("example");
    home.run(&["refresh", "example", "--quiet"]).ok();
    home
}

/// Makes many calls with long arguments: all succeed, memory stays bounded, and SIGINT ends the program in time.
#[track_caller]
fn check(url: &str) {
    let mut home = machine(url);
    home.set("PEGBOARD_LOG", "warn");
    let config = format!("[trace]\ncapture_content = true\n{}", home.config());
    home.write("config/config.toml", &config);
    let mut serving = Serving::start(&home, &[]);
    let long = "x".repeat(20_000);
    let calls = |count: usize| {
        for _ in 0..count {
            let response = serving.call_tool("example/count_words", json!({"text": long}));
            assert_ne!(response["result"]["isError"], true, "{response}");
        }
    };
    calls(20);
    let memory = || rss_kib(serving.running.pid()).expect("it runs");
    let before = memory();
    // More than a queue holds: 8 MiB are full after about 400 calls of 20 KB.
    calls(600);
    let grown = memory().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB more");
    let began = Instant::now();
    serving.stop();
    // Two seconds for the remaining spans; the rest is slack for a busy machine.
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    home.assert_nothing_runs();
}

#[test]
fn r_obs_02_a_hanging_collector_does_not_delay_requests() {
    check(&hanging());
}

#[test]
fn r_obs_02_an_unreachable_collector_does_not_delay_requests() {
    check(&closed_port());
}

#[test]
fn r_obs_02_a_command_exits_in_time_and_reports_an_unreachable_collector() {
    let home = machine(&hanging());
    let began = Instant::now();
    let run = home.run(&["call", "example/echo", "text=hi"]).ok();
    assert!(began.elapsed() < TIMEOUT / 2, "{:?}", began.elapsed());
    assert!(run.stdout.contains("hi"), "{}", run.stdout);
    assert!(
        run.stderr.contains("cannot send traces to"),
        "{}",
        run.stderr
    );
    let quiet = home
        .run(&["call", "example/echo", "text=hi", "--quiet"])
        .ok();
    assert_eq!(quiet.stderr, "");
}

#[test]
fn r_obs_02_an_interrupted_program_sends_what_is_left() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let collector = Collector::start();
        let home = machine(&collector.url);
        let mut serving = Serving::start(&home, &[]);
        serving.call_tool("example/echo", json!({"text": "hi"}));
        serving.running.signal(signal);
        assert!(serving.running.wait().success());
        // No waiting: the spans are there when the program exits.
        let spans = collector.spans();
        let has_call = spans.iter().any(|span| span.name == "tools/call echo");
        assert!(has_call, "{signal}: {spans:?}");
    }
}

#[test]
fn r_obs_02_an_invalid_trace_destination_is_reported_and_work_continues() {
    let mut home = Home::new();
    home.set("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://localhost:4317");
    home.add_example("example");
    let run = home.run(&["call", "example/echo", "text=hi"]).ok();
    assert!(run.stderr.contains("`grpc`"), "{}", run.stderr);
    let config = format!("[trace.langfuse]\npublic_key = \"pk\"\n{}", home.config());
    home.write("config/config.toml", &config);
    let run = home.run(&["call", "example/echo", "text=hi"]).ok();
    assert!(run.stderr.contains("secret_key"), "{}", run.stderr);
}

#[test]
fn r_obs_03_a_project_cannot_set_the_trace_destination() {
    let collector = Collector::start();
    let home = Home::new();
    home.add_example("example");
    let theirs = format!("[trace]\nendpoint = \"{}\"\n", collector.url);
    home.write("project/.pegboard/config.toml", &theirs);
    let run = home.run(&["call", "example/echo", "text=hi"]).ok();
    assert!(
        run.stderr.contains("cannot change where traces are sent"),
        "{}",
        run.stderr
    );
    assert!(collector.seen().is_empty());
}
