//! Spans of the real program, as Langfuse receives them, configured by its three variables.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::collector::Collector;
use crate::serving::Serving;
use crate::support::Home;

fn machine(collector: &Collector) -> Home {
    let mut home = Home::new();
    home.set("LANGFUSE_PUBLIC_KEY", "pk-lf-e2e-public");
    home.set("LANGFUSE_SECRET_KEY", "sk-lf-e2e-secret");
    home.set("LANGFUSE_BASE_URL", &collector.url);
    home.set("LANGFUSE_TRACING_ENVIRONMENT", "testing");
    home.add_example("example");
    home
}

#[track_caller]
fn check_request(collector: &Collector) {
    let seen = collector.seen();
    assert!(!seen.is_empty());
    let basic = STANDARD.encode("pk-lf-e2e-public:sk-lf-e2e-secret");
    for request in &seen {
        assert_eq!(request.path, "/api/public/otel/v1/traces");
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        assert_eq!(
            header("authorization"),
            Some(format!("Basic {basic}").as_str())
        );
        assert_eq!(header("x-langfuse-ingestion-version"), Some("4"));
        assert_eq!(header("content-type"), Some("application/x-protobuf"));
        for resource in request.request().resource_spans {
            let resource = resource.resource.expect("a resource");
            let resource = crate::otlp::object(&resource.attributes);
            assert_eq!(resource["service.name"], "pegboard");
        }
    }
}

#[test]
fn r_obs_02_langfuse_gets_every_kind_of_work_by_its_own_name() {
    let collector = Collector::start();
    let home = machine(&collector);
    let mut serving = Serving::start(&home, &[]);
    serving.call("search_tools", json!({"query": "add"}));
    serving.call_tool("example/add_numbers", json!({"a": 1, "b": 2}));
    serving.call_tool("example/add_numbers", json!({"a": 1, "b": "x"}));
    serving.stop();
    check_request(&collector);
    for (name, kind) in [
        ("tools/call search_tools", "span"),
        ("catalog", "span"),
        ("tools/list example", "span"),
        ("search tools", "retriever"),
        ("policy example__add_numbers", "guardrail"),
        ("tools/call add_numbers", "tool"),
    ] {
        let attributes = collector.wait_for(name).attributes;
        assert_eq!(attributes["langfuse.observation.type"], kind, "{name}");
        assert_eq!(attributes["langfuse.environment"], "testing", "{name}");
        assert_eq!(
            attributes["langfuse.observation.level"], "DEFAULT",
            "{name}"
        );
        for key in ["langfuse.trace.name", "session.id", "langfuse.version"] {
            let text = attributes.get(key).and_then(Value::as_str);
            assert!(text.is_some_and(|text| !text.is_empty()), "{key} of {name}");
        }
        for content in ["langfuse.observation.input", "langfuse.observation.output"] {
            assert!(!attributes.contains_key(content), "{content} of {name}");
        }
    }
    let discovery = collector.wait_for("tools/list example").attributes;
    let metadata = |key: &str| &discovery[&format!("langfuse.observation.metadata.{key}")];
    assert_eq!(metadata("server"), "example");
    assert_eq!(metadata("tool_count"), 16);
    assert_eq!(metadata("cache"), "miss");
    assert!(
        metadata("tool_names")
            .as_array()
            .is_some_and(|names| names.len() == 16)
    );
    assert!(metadata("duration_ms").is_number());
    let failed = collector.spans().into_iter().find(|span| span.is_error);
    let failed = failed.expect("the wrong argument is reported").attributes;
    assert_eq!(failed["langfuse.observation.level"], "ERROR");
    let message = failed["langfuse.observation.status_message"].as_str();
    assert!(message.is_some_and(|message| !message.is_empty()));
}

#[test]
fn r_obs_02_langfuse_can_be_configured_with_stored_keys() {
    let collector = Collector::start();
    let home = Home::new();
    home.run_with_input(&["secret", "set", "lf_public"], "pk-lf-e2e-public")
        .ok();
    home.run_with_input(&["secret", "set", "lf_secret"], "sk-lf-e2e-secret")
        .ok();
    let config = format!(
        "[trace]\nenvironment = \"testing\"\n[trace.langfuse]\npublic_key = \"${{secret:lf_public}}\"\n\
         secret_key = \"${{secret:lf_secret}}\"\nbase_url = \"{}\"\n",
        collector.url
    );
    home.write("config/config.toml", &config);
    home.add_example("example");
    home.run(&["call", "example/echo", "text=hi"]).ok();
    check_request(&collector);
    assert_eq!(
        collector.wait_for("tools/call echo").attributes["langfuse.environment"],
        "testing"
    );
    let explained = home.run(&["config", "explain"]).ok().stdout;
    assert!(explained.contains("trace.environment"), "{explained}");
    assert!(
        explained.contains("trace.langfuse.secret_key"),
        "{explained}"
    );
}
