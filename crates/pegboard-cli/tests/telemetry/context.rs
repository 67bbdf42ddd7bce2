//! A client's trace is continued: its span is the parent of Pegboard's, which is the parent of the server's.

use pegboard_testkit::{HostileHttp, Script};
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::serving::Serving;
use crate::support::Home;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENTS: &str = "00f067aa0ba902b7";

/// A machine with a server of each transport that returns the `_meta` it received.
struct Machine {
    home: Home,
    _web: HostileHttp,
}

impl Machine {
    fn new() -> Self {
        let reporting = Script::new()
            .tools(["report"])
            .with(|script| script.call.echoes_meta = true);
        let (home, web) = (Home::new(), reporting.serve_http());
        home.add_script("pipe", &reporting, "");
        let url = web.url();
        let config = format!("{}[servers.web]\nurl = \"{url}\"\n", home.config());
        home.write("config/config.toml", &config);
        Self { home, _web: web }
    }
}

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{CLIENTS}-{flags}")
}

/// Calls a server's tool with this `_meta` and returns the `_meta` that the server received.
fn received_meta(serving: &Serving, server: &str, meta: &Value) -> Value {
    let arguments = json!({"tool_name": format!("{server}/report"), "arguments": {"text": "x"}});
    let response = serving.call_with("call_tool", arguments, meta);
    let text = response["result"]["content"][0]["text"].as_str();
    let received_meta: Value = serde_json::from_str(text.unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {response}"));
    received_meta["_meta"].clone()
}

fn meta(flags: &str) -> Value {
    json!({
        "traceparent": parent(flags), "tracestate": "vendor=1,other=2", "baggage": "user=ada",
        "example.com/own": {"kept": [1, 2.50]},
    })
}

#[test]
fn r_obs_02_spans_nest_client_pegboard_server() {
    let collector = Collector::start();
    let mut machine = Machine::new();
    machine
        .home
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let mut serving = Serving::start(&machine.home, &[]);
    for server in ["pipe", "web"] {
        let received_meta = received_meta(&serving, server, &meta("01"));
        let handed_on = received_meta["traceparent"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let [version, trace, span, flags] = handed_on.split('-').collect::<Vec<_>>()[..] else {
            panic!("no context: {received_meta}");
        };
        assert_eq!((version, trace, flags), ("00", TRACE, "01"));
        assert_eq!(received_meta["tracestate"], "vendor=1,other=2");
        assert_eq!(received_meta.get("baggage"), None, "{received_meta}");
        assert_eq!(received_meta["example.com/own"], json!({"kept": [1, 2.50]}));

        let mut call = None;
        pegboard_testkit::wait_until_sync("the call's span", crate::support::TIMEOUT, || {
            call = collector.spans().into_iter().find(|seen| seen.id == span);
            call.is_some()
        });
        let call = call.expect("it was found");
        assert_eq!(call.name, "tools/call report");
        assert_eq!(call.trace, TRACE);
        assert_eq!(call.state, "vendor=1,other=2");
        let request = collector
            .spans()
            .into_iter()
            .find(|seen| seen.id == call.parent);
        assert_eq!(
            request.map(|request| request.parent).as_deref(),
            Some(CLIENTS)
        );
    }
    serving.stop();
    // The activity log has the same trace id.
    let activity = machine.home.run(&["activity", "--json"]).ok().stdout;
    assert!(activity.contains(TRACE), "{activity}");
}

#[test]
fn r_obs_02_without_tracing_the_clients_context_is_forwarded_unchanged() {
    let machine = Machine::new();
    let mut serving = Serving::start(&machine.home, &[]);
    for server in ["pipe", "web"] {
        let received_meta = received_meta(&serving, server, &meta("01"));
        assert_eq!(received_meta["traceparent"], parent("01"));
        assert_eq!(received_meta["tracestate"], "vendor=1,other=2");
        assert_eq!(received_meta.get("baggage"), None, "{received_meta}");
        assert_eq!(received_meta["example.com/own"], json!({"kept": [1, 2.50]}));
    }
    serving.stop();
    let activity = machine.home.run(&["activity", "--json"]).ok().stdout;
    assert!(activity.contains(TRACE), "{activity}");
}

#[test]
fn r_obs_02_an_unsampled_client_trace_is_not_recorded() {
    let collector = Collector::start();
    let mut machine = Machine::new();
    machine
        .home
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let mut serving = Serving::start(&machine.home, &[]);
    let received_meta = received_meta(&serving, "pipe", &meta("00"));
    assert_eq!(received_meta["traceparent"], parent("00"));
    serving.stop();
    assert!(collector.spans().iter().all(|span| span.trace != TRACE));
}
