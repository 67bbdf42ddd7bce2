//! The requests sent to Langfuse.

use pegboard_model::{Outcome, Reason, Secret, ToolError};
use pegboard_trace::{Destination, LangfuseKeys, Redactor};
use serde_json::{Value, json};

use crate::collector::{Collector, LONG, ReceivedRequest};
use crate::facts::{record_everything, tracer};
use crate::otlp::{Span, object};

async fn sent(capture: bool, outcome: Outcome<'_>) -> (ReceivedRequest, Vec<Span>) {
    let collector = Collector::start().await;
    let keys = LangfuseKeys {
        public_key: Secret::new("pk-lf-1234"),
        secret_key: Secret::new("sk-lf-5678"),
        base_url: Some(collector.url.clone()),
    };
    let destination = Destination::langfuse(&keys).unwrap();
    let tracer = tracer(vec![destination], capture, Redactor::default());
    record_everything(&tracer, outcome, "captured content");
    assert_eq!(tracer.close(LONG).await.sent, 8);
    (collector.seen()[0].clone(), collector.spans())
}

fn attributes(spans: &[Span], name: &str) -> Value {
    let span = spans.iter().find(|span| span.name == name).unwrap();
    Value::Object(object(&span.attributes))
}

#[tokio::test]
async fn r_obs_02_langfuse_gets_its_path_its_headers_and_its_attributes_on_every_span() {
    let (seen, spans) = sent(false, Outcome::Ok).await;
    assert_eq!(seen.path, "/api/public/otel/v1/traces");
    assert_eq!(seen.headers["content-type"], "application/x-protobuf");
    // `printf pk-lf-1234:sk-lf-5678 | base64`
    assert_eq!(
        seen.headers["authorization"],
        "Basic cGstbGYtMTIzNDpzay1sZi01Njc4"
    );
    assert_eq!(seen.headers["x-langfuse-ingestion-version"], "4");
    for (name, kind) in [
        ("tools/call github__close_issue", "span"),
        ("catalog", "span"),
        ("tools/list github", "span"),
        ("search tools", "retriever"),
        ("policy github__close_issue", "guardrail"),
        ("tools/call close_issue", "tool"),
        ("chat claude-x", "generation"),
        ("invoke_agent ask", "agent"),
    ] {
        let attributes = attributes(&spans, name);
        assert_eq!(attributes["langfuse.observation.type"], kind, "{name}");
        assert_eq!(
            attributes["langfuse.trace.name"], "tools/call github__close_issue",
            "{name}"
        );
        assert!(
            attributes["session.id"]
                .as_str()
                .unwrap()
                .ends_with("-client-1"),
            "{name}"
        );
        assert_eq!(attributes["langfuse.environment"], "testing", "{name}");
        assert_eq!(
            attributes["langfuse.observation.level"], "DEFAULT",
            "{name}"
        );
        assert_eq!(
            attributes["langfuse.observation.input"],
            Value::Null,
            "{name}"
        );
    }
}

#[tokio::test]
async fn r_obs_02_langfuse_shows_server_tools_duration_and_cache_as_metadata() {
    let (_, spans) = sent(false, Outcome::Ok).await;
    let discovery = attributes(&spans, "tools/list github");
    let metadata = |key: &str| discovery[&format!("langfuse.observation.metadata.{key}")].clone();
    assert_eq!(metadata("server"), "github");
    assert_eq!(metadata("tool_count"), 2);
    assert_eq!(
        metadata("tool_names"),
        json!(["close_issue", "list_issues"])
    );
    assert_eq!(metadata("duration_ms"), 250);
    assert_eq!(metadata("cache"), "miss");
    let lookup = attributes(&spans, "catalog");
    assert_eq!(lookup["langfuse.observation.metadata.cache_hits"], 3);
    assert_eq!(lookup["langfuse.observation.metadata.cache_misses"], 1);
    let turn = attributes(&spans, "chat claude-x");
    assert_eq!(turn["langfuse.observation.model.name"], "claude-x-1");
    let usage: Value =
        serde_json::from_str(turn["langfuse.observation.usage_details"].as_str().unwrap()).unwrap();
    assert_eq!(
        usage,
        json!({"input": 60, "input_cached_tokens": 40, "output": 20})
    );
}

#[tokio::test]
async fn r_obs_02_langfuse_shows_failures_and_contents_that_were_asked_for() {
    let error = ToolError::new(Reason::ServerExited, "it ended: captured content");
    let (_, spans) = sent(true, Outcome::Failed(&error)).await;
    let call = attributes(&spans, "tools/call close_issue");
    assert_eq!(call["langfuse.observation.level"], "ERROR");
    assert_eq!(
        call["langfuse.observation.status_message"],
        "it ended: captured content"
    );
    assert_eq!(call["langfuse.observation.input"], "captured content");
    assert_eq!(call["langfuse.observation.output"], "captured content");
}
