//! A task of several steps over real servers.

use std::sync::{Arc, Mutex};

use pegboard::agent::AgentEvent;
use pegboard::{Recorder, SpanContext, ToolResult};
use pegboard_model::{RunFacts, TurnFacts};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::scripted::{BOTH, ModelApi, agent, model, results, run_task};
use crate::support::Home;

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_a_task_of_several_steps_finds_describes_and_calls() {
    for api in BOTH {
        let home = Home::with_example();
        let pegboard = home.open().await;
        let server = model(json!([
            {"thinking": "I need a tool.", "text": "I look for it.",
             "calls": [{"name": "search_tools", "input": {"query": "add two numbers"}}]},
            {"calls": [{"name": "get_tool_description", "input": {"tool_name": "example__add_numbers"}}]},
            {"calls": [{"name": "call_tool",
                        "input": {"tool_name": "example__add_numbers", "arguments": {"a": 2, "b": 40}}}]},
            {"text": "It is 42."},
        ]));
        let (run, events) = run_task(&agent(&pegboard, api, &server), "What is 2 + 40?").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("It is 42."), "{api:?}");
        assert_eq!((run.turns, run.calls), (4, 3));
        let used: Vec<_> = run.used.iter().collect();
        assert_eq!(used.len(), 1, "{used:?}");
        assert_eq!(used[0].tool, "example__add_numbers");
        assert_eq!(used[0].server.as_ref().map(|s| s.as_str()), Some("example"));
        assert_eq!(used[0].outcome, "ok");
        assert_eq!(run.usage.input_tokens, 4 * 120);
        assert_eq!(run.usage.cached_tokens, 4 * 20);
        assert_eq!(run.usage.output_tokens, 4 * 30);
        assert!(run.saved_tokens > 0);
        let (result, is_error) = results(&server).remove(0);
        assert!(result.contains("42") && !is_error, "{result}");
        let requests = server.requests();
        let request = |place: usize| requests[place].body.to_string();
        assert!(
            request(1).contains("example__add_numbers("),
            "{}",
            request(1)
        );
        assert!(
            request(2).contains("inputSchema") || request(2).contains("required"),
            "{}",
            request(2)
        );
        assert!(
            request(0).contains("16 tools"),
            "no summary in {}",
            request(0)
        );
        let text: String = events
            .iter()
            .filter_map(|event| match event {
                AgentEvent::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(text, "I look for it.It is 42.");
        pegboard.close().await;
        home.assert_nothing_runs();
    }
}

/// Two calls that wait for each other end only if they run concurrently.
#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_calls_of_one_turn_run_concurrently_and_are_answered_in_order() {
    for api in BOTH {
        let home = Home::with_example();
        let pegboard = home.open().await;
        let barrier = Arc::new(Barrier::new(2));
        let meet = move |arguments: Value| {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                Ok(json!(format!(
                    "met as {}",
                    arguments["who"].as_str().unwrap_or_default()
                ))) as ToolResult<Value>
            }
        };
        let schema = json!({"type": "object", "properties": {"who": {"type": "string"}}});
        pegboard
            .register("meet", "Waits for another one.", schema, meet)
            .expect("a static tool");
        let server = model(json!([
            {"calls": [
                {"name": "meet", "input": {"who": "first"}},
                {"name": "call_tool", "input": {"tool_name": "meet", "arguments": {"who": "second"}}},
                {"name": "call_tool", "input": {"tool_name": "no_such_tool"}},
                {"name": "example__add_numbers", "input": {"a": 1, "b": 2}},
            ]},
            {"text": "Done."},
        ]));
        let (run, _) = run_task(&agent(&pegboard, api, &server), "Meet.").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("Done."), "{api:?}");
        let results = results(&server);
        assert!(results[0].0.contains("met as first"), "{results:?}");
        assert!(results[1].0.contains("met as second"), "{results:?}");
        assert!(
            results[2].0.contains("TOOL_UNKNOWN") && results[2].1,
            "{results:?}"
        );
        assert!(results[3].0.contains('3') && !results[3].1, "{results:?}");
        let mut used: Vec<(&str, &str)> = run
            .used
            .iter()
            .map(|used| (used.tool.as_str(), used.outcome.as_str()))
            .collect();
        used.sort_unstable();
        assert_eq!(
            used,
            [
                ("example__add_numbers", "ok"),
                ("meet", "ok"),
                ("meet", "ok"),
                ("no_such_tool", "TOOL_UNKNOWN")
            ]
        );
        pegboard.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_02_third_party_servers_are_found_and_called() {
    let Some(folder) = std::env::var_os("PEGBOARD_TEST_ENV") else {
        println!("skipped: PEGBOARD_TEST_ENV does not name the folder of scripts/install-test-env");
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    for api in BOTH {
        let home = Home::with_example();
        let time = folder.join("python/bin/mcp-server-time");
        home.add(
            "time",
            &time.display().to_string(),
            &["--local-timezone", "UTC"],
            "",
        );
        let everything =
            folder.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        home.add(
            "everything",
            "node",
            &[&everything.display().to_string()],
            "",
        );
        home.run(&["refresh", "--all"]).ok();
        let pegboard = home.open().await;
        let server = model(json!([
            {"calls": [{"name": "search_tools", "input": {"query": "current time in a time zone"}}]},
            {"calls": [
                {"name": "call_tool", "input": {"tool_name": "time/get_current_time",
                                                "arguments": {"timezone": "Asia/Tokyo"}}},
                {"name": "call_tool", "input": {"tool_name": "everything__echo",
                                                "arguments": {"message": "over the hills"}}},
                {"name": "call_tool", "input": {"tool_name": "time/get_current_time",
                                                "arguments": {"timezone": "Nowhere/Else"}}},
            ]},
            {"text": "Seen."},
        ]));
        let (run, _) = run_task(&agent(&pegboard, api, &server), "What time is it?").await;
        server.assert_satisfied();
        assert_eq!(run.answer.as_deref(), Ok("Seen."));
        let results = results(&server);
        assert!(results[0].0.contains("Asia/Tokyo"), "{results:?}");
        assert!(results[1].0.contains("over the hills"), "{results:?}");
        let failed = run.used.iter().filter(|used| used.outcome != "ok");
        assert_eq!(failed.count(), 1, "{:?}", run.used);
        let servers: Vec<&str> = run.servers().iter().map(|s| s.as_str()).collect();
        assert_eq!(servers, ["everything", "time"]);
        let search = server.requests()[1].body.to_string();
        assert!(search.contains("time__get_current_time"), "{search}");
        pegboard.close().await;
        home.assert_nothing_runs();
    }
}

/// Stores what it records.
#[derive(Debug, Default)]
struct RecordingRecorder(Mutex<Vec<String>>);

impl Recorder for RecordingRecorder {
    fn turn(&self, _span: Option<&SpanContext>, facts: &TurnFacts<'_>) {
        let line = format!(
            "turn of {} by {}: {} read, {} written, {} calls, {}",
            facts.model,
            facts.provider,
            facts.input_tokens,
            facts.output_tokens,
            facts.tool_calls,
            facts.finish.unwrap_or("-"),
        );
        self.0.lock().expect("no panic").push(line);
    }

    fn run(&self, _span: Option<&SpanContext>, facts: &RunFacts<'_>) {
        let servers: Vec<&str> = facts.servers.iter().map(|name| name.as_str()).collect();
        let line = format!(
            "run: {} turns, {} calls, servers {servers:?}, needs discovery: {}",
            facts.turns, facts.calls, facts.needs_discovery,
        );
        self.0.lock().expect("no panic").push(line);
    }

    fn tokens_saved(&self, tokens: u64) {
        let line = format!("saved: {}", tokens > 0);
        self.0.lock().expect("no panic").push(line);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r_agent_03_turns_and_runs_are_reported_to_a_recorder() {
    let home = Home::new();
    home.add_example("example");
    let pegboard = home.open().await;
    let server = model(json!([
        {"calls": [{"name": "call_tool", "input": {"tool_name": "example__echo", "arguments": {"text": "hi"}}}]},
        {"text": "Hi."},
        {"text": "Hi again."},
    ]));
    let recorder = Arc::new(RecordingRecorder::default());
    let agent = agent(&pegboard, ModelApi::Anthropic, &server).recorder(recorder.clone());
    run_task(&agent, "Say hi.").await;
    run_task(&agent, "Say hi again.").await;
    let recorded = recorder.0.lock().expect("no panic").join("\n");
    assert_eq!(
        recorded,
        "turn of m-1 by anthropic: 120 read, 30 written, 1 calls, tool_use\n\
         turn of m-1 by anthropic: 120 read, 30 written, 0 calls, end_turn\n\
         saved: true\n\
         run: 2 turns, 1 calls, servers [\"example\"], needs discovery: true\n\
         turn of m-1 by anthropic: 120 read, 30 written, 0 calls, end_turn\n\
         saved: true\n\
         run: 1 turns, 0 calls, servers [\"example\"], needs discovery: false"
    );
    pegboard.close().await;
}
