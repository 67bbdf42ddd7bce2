//! The content of spans.

use pegboard_model::{Outcome, Reason, Recorder, RpcError, Secret, SpanContext, ToolError};
use pegboard_trace::{Destination, Redactor, Tracer};
use serde_json::{Value, json};

use crate::collector::{Collector, LONG};
use crate::facts::{call, plain, record_call, record_everything, server, trace_id, tracer};
use crate::otlp::{Span, SpanKind, StatusCode, object};

async fn everything(capture: bool, outcome: Outcome<'_>, text: &str) -> Vec<Span> {
    let collector = Collector::start().await;
    let tracer = tracer(vec![plain(&collector.url)], capture, Redactor::default());
    record_everything(&tracer, outcome, text);
    let delivered = tracer.close(LONG).await;
    assert_eq!((delivered.sent, delivered.dropped), (8, 0));
    collector.spans()
}

#[track_caller]
fn check(spans: &[Span], name: &str, kind: SpanKind, expected: Value) {
    let span = spans.iter().find(|span| span.name == name);
    let span = span.unwrap_or_else(|| panic!("no span `{name}`"));
    assert_eq!(span.kind(), kind, "{name}");
    let mut attributes = object(&span.attributes);
    assert_eq!(attributes.remove("pegboard.duration_ms"), Some(250.into()));
    let session = attributes.remove("mcp.session.id").unwrap();
    assert!(
        session.as_str().unwrap().ends_with("-client-1"),
        "{session}"
    );
    assert_eq!(Value::Object(attributes), expected, "{name}");
    assert_eq!(
        span.end_time_unix_nano - span.start_time_unix_nano,
        250_000_000
    );
}

#[tokio::test]
async fn r_obs_02_every_kind_of_work_is_a_span_with_the_names_of_the_conventions() {
    let spans = everything(false, Outcome::Ok, "find it").await;
    let names = ["github__close_issue", "find it"];
    check(
        &spans,
        "tools/list github",
        SpanKind::Client,
        json!({
            "mcp.method.name": "tools/list", "mcp.protocol.version": "2026-07-28",
            "network.transport": "tcp", "network.protocol.name": "http",
            "pegboard.server": "github", "pegboard.tool_count": 2,
            "pegboard.tool_names": ["close_issue", "list_issues"], "pegboard.cache": "miss", "pegboard.outcome": "ok",
        }),
    );
    check(
        &spans,
        "catalog",
        SpanKind::Internal,
        json!({
            "pegboard.cache": "miss", "pegboard.cache_hits": 3, "pegboard.cache_misses": 1,
        }),
    );
    check(
        &spans,
        "search tools",
        SpanKind::Internal,
        json!({
            "gen_ai.operation.name": "retrieval", "pegboard.found": 2, "pegboard.tool_names": names,
        }),
    );
    check(
        &spans,
        "policy github__close_issue",
        SpanKind::Internal,
        json!({
            "pegboard.tool": "github__close_issue", "pegboard.decision": "ask", "pegboard.rule": "find it",
            "pegboard.outcome": "ok",
        }),
    );
    check(
        &spans,
        "tools/call close_issue",
        SpanKind::Client,
        json!({
            "mcp.method.name": "tools/call", "mcp.protocol.version": "2025-11-25", "network.transport": "pipe",
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "close_issue", "gen_ai.tool.type": "function",
            "pegboard.server": "github", "pegboard.tool": "github__close_issue", "pegboard.server_started": true,
            "pegboard.outcome": "ok",
        }),
    );
    check(
        &spans,
        "chat claude-x",
        SpanKind::Client,
        json!({
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude-x",
            "gen_ai.response.model": "claude-x-1", "gen_ai.response.id": "msg_1",
            "gen_ai.response.finish_reasons": ["tool_use"], "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 20, "gen_ai.usage.cache_read.input_tokens": 40, "pegboard.calls": 2,
            "pegboard.outcome": "ok",
        }),
    );
    check(
        &spans,
        "invoke_agent ask",
        SpanKind::Internal,
        json!({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "ask", "pegboard.turns": 2,
            "pegboard.calls": 3, "pegboard.outcome": "ok",
            "pegboard.mcpServers": ["github"], "pegboard.needsDiscovery": true,
        }),
    );
    check(
        &spans,
        "tools/call github__close_issue",
        SpanKind::Server,
        json!({
            "mcp.method.name": "tools/call", "mcp.protocol.version": "2026-07-28", "network.transport": "tcp",
            "network.protocol.name": "http", "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "github__close_issue", "pegboard.outcome": "ok",
        }),
    );
    let root = spans
        .iter()
        .find(|span| span.parent_span_id.is_empty())
        .unwrap();
    assert_eq!(root.name, "tools/call github__close_issue");
    for span in &spans {
        assert_eq!(span.trace_id, [0x11; 16]);
        assert!(span.span_id == root.span_id || span.parent_span_id == root.span_id);
        assert_eq!((span.status.clone(), span.flags), (None, 1));
    }
}

#[tokio::test]
async fn r_obs_03_contents_are_left_out_unless_they_are_asked_for() {
    let marker = "captured content";
    let bytes_of = |spans: &[Span]| format!("{spans:?}");
    let quiet = everything(false, Outcome::Ok, marker).await;
    // Rules and tool names are ids. Queries, arguments, results and messages are content.
    let contents = |spans: &[Span]| {
        let all = spans.iter().flat_map(|span| object(&span.attributes));
        let keys = all.filter(|(key, value)| value == marker && key != "pegboard.rule");
        keys.map(|(key, _)| key).collect::<Vec<_>>()
    };
    assert_eq!(contents(&quiet), Vec::<String>::new());
    assert_eq!(bytes_of(&quiet).matches(marker).count(), 2);
    let mut asked = contents(&everything(true, Outcome::Ok, marker).await);
    asked.sort();
    assert_eq!(
        asked,
        [
            "gen_ai.input.messages",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.output.messages",
            "gen_ai.retrieval.query.text",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
        ]
    );
}

#[tokio::test]
async fn r_obs_02_failures_are_recorded_with_their_codes() {
    let collector = Collector::start().await;
    let tracer = tracer(vec![plain(&collector.url)], false, Redactor::default());
    let server = server();
    let exited = ToolError::new(Reason::ServerExited, "it said: captured content");
    let rpc = RpcError {
        code: -32602,
        message: "m".into(),
        data: None,
    };
    let refused = ToolError::new(Reason::ServerExited, "x").with_rpc(rpc);
    for outcome in [
        Outcome::ToolFailed,
        Outcome::Failed(&exited),
        Outcome::Failed(&refused),
    ] {
        let span = tracer.begin(None, &trace_id());
        tracer.call(span.as_ref(), &call(&server, outcome));
    }
    tracer.close(LONG).await;
    let received: Vec<_> = collector
        .spans()
        .iter()
        .map(|span| {
            let status = span.status.clone().unwrap();
            assert_eq!(status.code(), StatusCode::Error);
            let attributes = object(&span.attributes);
            let text = |key: &str| {
                attributes
                    .get(key)
                    .map(|value| value.as_str().unwrap().to_owned())
            };
            (
                text("error.type"),
                text("pegboard.outcome"),
                text("rpc.response.status_code"),
                status.message,
            )
        })
        .collect();
    let title = |reason: Reason| reason.title().to_owned();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        received,
        [
            (
                some("tool_error"),
                some("TOOL_FAILED"),
                None,
                title(Reason::ToolFailed)
            ),
            (
                some("SERVER_EXITED"),
                some("SERVER_EXITED"),
                None,
                title(Reason::ServerExited)
            ),
            (
                some("-32602"),
                some("SERVER_EXITED"),
                some("-32602"),
                title(Reason::ServerExited)
            ),
        ]
    );
}

#[tokio::test]
async fn r_obs_02_a_callers_trace_goes_on_unless_it_is_not_sampled() {
    let collector = Collector::start().await;
    let tracer = tracer(vec![plain(&collector.url)], false, Redactor::default());
    let parent = |flags: &str| {
        let text = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
        SpanContext::parse(&text, Some("vendor=1"))
    };
    assert_eq!(tracer.begin(parent("00").as_ref(), &trace_id()), None);
    let span = tracer.begin(parent("01").as_ref(), &trace_id()).unwrap();
    let mut meta = serde_json::Map::new();
    span.inject(&mut meta);
    tracer.call(Some(&span), &call(&server(), Outcome::Ok));
    tracer.close(LONG).await;
    let spans = collector.spans();
    let hex = |bytes: &[u8]| {
        bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    assert_eq!(hex(&spans[0].trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex(&spans[0].parent_span_id), "00f067aa0ba902b7");
    assert_eq!(spans[0].trace_state, "vendor=1");
    let handed_on = format!(
        "00-{}-{}-01",
        hex(&spans[0].trace_id),
        hex(&spans[0].span_id)
    );
    assert_eq!(meta["traceparent"], handed_on.as_str());
    assert_eq!(spans.len(), 1);
}

#[tokio::test]
async fn r_obs_02_a_collector_gets_protobuf_at_its_path_with_its_headers() {
    let collector = Collector::start().await;
    let headers = [("x-api-key".to_owned(), Secret::new("canary"))];
    let base = format!("{}/base/", collector.url);
    let destination = Destination::collector(&base, &headers).unwrap();
    let tracer = tracer(vec![destination], false, Redactor::default());
    record_call(&tracer);
    tracer.close(LONG).await;
    let seen = collector.seen();
    assert_eq!(seen[0].path, "/base/v1/traces");
    assert_eq!(seen[0].headers["content-type"], "application/x-protobuf");
    assert_eq!(seen[0].headers["x-api-key"], "canary");
    assert!(!seen[0].headers.contains_key("x-langfuse-ingestion-version"));
    let resource = seen[0].request().resource_spans[0]
        .resource
        .clone()
        .unwrap();
    assert_eq!(object(&resource.attributes)["service.name"], "pegboard");
}

#[tokio::test]
async fn without_a_destination_no_span_is_begun() {
    let tracer = Tracer::metrics_only(Default::default());
    assert_eq!(tracer.begin(None, &trace_id()), None);
    record_call(&tracer);
    assert_eq!(tracer.close(LONG).await, Default::default());
}
