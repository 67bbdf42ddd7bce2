//! Recorded facts for tests.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{
    Annotations, CacheUse, CallFacts, DiscoveryFacts, ExposedName, Fingerprint, LookupFacts,
    Outcome, PolicyFacts, Recorder, RequestFacts, RunFacts, SearchFacts, ServerName, SpanContext,
    Tool, TraceId, TransportKind, TurnFacts,
};
use pegboard_trace::{Destination, Redactor, TracePlan, Tracer};

pub(crate) const TOOK: Duration = Duration::from_millis(250);

pub(crate) fn trace_id() -> TraceId {
    TraceId::from_bytes([0x11; 16])
}

pub(crate) fn server() -> ServerName {
    ServerName::parse("github").unwrap()
}

pub(crate) fn tool(name: &str) -> Tool {
    let definition = format!(r#"{{"name":"{name}"}}"#);
    Tool {
        name: name.to_owned(),
        exposed: ExposedName::of(&server(), name),
        fingerprint: Fingerprint([0; 32]),
        definition: definition.into(),
        summary: String::new(),
        annotations: Annotations::default(),
        deprecated: false,
        tokens: 5,
    }
}

/// A tracer for these destinations.
pub(crate) fn tracer(
    destinations: Vec<Destination>,
    capture_content: bool,
    redactor: Redactor,
) -> Tracer {
    let plan = TracePlan {
        destinations,
        capture_content,
        resource: vec![("service.name".into(), "pegboard".into())],
        environment: Some("testing".into()),
        ..TracePlan::default()
    };
    Tracer::start(plan, Arc::new(redactor))
}

pub(crate) fn plain(url: &str) -> Destination {
    Destination::collector(url, &[]).unwrap()
}

pub(crate) fn call<'a>(server: &'a ServerName, outcome: Outcome<'a>) -> CallFacts<'a> {
    CallFacts {
        server: Some(server),
        tool: "close_issue",
        exposed: "github__close_issue",
        transport: TransportKind::Stdio,
        protocol: Some("2025-11-25"),
        started: true,
        arguments: Some(r#"{"number":7}"#),
        result: Some(r#"{"content":[]}"#),
        outcome,
        took: TOOK,
    }
}

/// Records one successful call.
pub(crate) fn record_call(tracer: &Tracer) {
    let span = tracer.begin(None, &trace_id());
    tracer.call(span.as_ref(), &call(&server(), Outcome::Ok));
}

/// Records one of each kind below one client request, with `text` in every free-text field.
pub(crate) fn record_everything(tracer: &Tracer, outcome: Outcome<'_>, text: &str) {
    let (server, trace) = (server(), trace_id());
    let tools = [tool("close_issue"), tool("list_issues")];
    let begin = |parent: Option<&SpanContext>| tracer.begin(parent, &trace);
    let request =
        begin(None).map(|span| span.with_labels("tools/call github__close_issue", "client-1"));
    let below = || begin(request.as_ref());
    tracer.lookup(
        below().as_ref(),
        &LookupFacts {
            trace,
            hits: 3,
            misses: 1,
            took: TOOK,
        },
    );
    tracer.discovery(
        below().as_ref(),
        &DiscoveryFacts {
            server: &server,
            transport: TransportKind::Http,
            protocol: Some("2026-07-28"),
            tools: &tools,
            cache: CacheUse::Miss,
            outcome,
            took: TOOK,
        },
    );
    let names = || vec!["github__close_issue".to_owned(), text.to_owned()];
    tracer.search(
        below().as_ref(),
        &SearchFacts {
            query: text,
            found: 2,
            names: &names,
            took: TOOK,
        },
    );
    tracer.policy(
        below().as_ref(),
        &PolicyFacts {
            tool: "github__close_issue",
            decision: "ask",
            rule: text,
            outcome,
            took: TOOK,
        },
    );
    let called = CallFacts {
        arguments: Some(text),
        result: Some(text),
        ..call(&server, outcome)
    };
    tracer.call(below().as_ref(), &called);
    tracer.turn(
        below().as_ref(),
        &TurnFacts {
            provider: "anthropic",
            model: "claude-x",
            response_model: Some("claude-x-1"),
            id: Some("msg_1"),
            input_tokens: 100,
            output_tokens: 20,
            cached_tokens: 40,
            finish: Some("tool_use"),
            tool_calls: 2,
            input: Some(text),
            output: Some(text),
            outcome,
            took: TOOK,
        },
    );
    tracer.run(
        below().as_ref(),
        &RunFacts {
            agent: "ask",
            servers: std::slice::from_ref(&server),
            needs_discovery: true,
            turns: 2,
            calls: 3,
            input: Some(text),
            output: Some(text),
            outcome,
            took: TOOK,
        },
    );
    tracer.request(
        request.as_ref(),
        &RequestFacts {
            method: "tools/call",
            name: Some("github__close_issue"),
            transport: TransportKind::Http,
            protocol: Some("2026-07-28"),
            outcome,
            took: TOOK,
        },
    );
}
