//! The conformance server over pipes, which the suite itself does not test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod pipe;

use pegboard_testkit::binary;
use pipe::{Pipe, modern, tool_names};
use serde_json::{Value, json};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn start(words: &[&str]) -> Pipe {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    Pipe::start(binary("pegboard-conformance-server"), &words)
}

fn initialize(server: &mut Pipe) {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"}});
    let response = server.legacy(0, "initialize", params);
    assert_eq!(response["result"]["protocolVersion"], "2025-11-25");
}

/// A modern call of a client that supports elicitation.
fn call(server: &mut Pipe, id: u64, params: Value) -> Value {
    let mut message = modern(id, "tools/call", params);
    message["params"]["_meta"][CAPABILITIES] = json!({"elicitation": {}});
    server.send(&message);
    server.message()
}

#[test]
fn both_eras_list_the_same_tools() {
    let mut server = start(&["--stdio"]);
    let listed = server.modern(1, "tools/list", json!({}));
    assert_eq!(listed["result"]["cacheScope"], "public");
    let names = tool_names(&listed);
    assert!(names.contains(&"test_simple_text".to_owned()));
    initialize(&mut server);
    assert_eq!(
        tool_names(&server.legacy(2, "tools/list", json!({}))),
        names
    );
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn one_fixture_requests_input_in_both_eras() {
    let tool = "test_input_required_result_elicitation";
    let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
    let mut server = start(&["--stdio"]);

    let first = call(&mut server, 1, json!({"name": tool}));
    assert_eq!(first["result"]["resultType"], "input_required");
    let again = json!({"name": tool, "inputResponses": {"user_name": accepted}});
    let second = call(&mut server, 2, again);
    assert_eq!(second["result"]["content"][0]["text"], "Hello, Ada!");

    initialize(&mut server);
    let question = server.legacy(3, "tools/call", json!({"name": tool}));
    assert_eq!(question["method"], "elicitation/create");
    server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accepted}));
    let response = server.message();
    assert_eq!(response["id"], 3);
    assert_eq!(response["result"]["content"][0]["text"], "Hello, Ada!");
}

#[test]
fn a_client_that_cannot_answer_is_not_asked() {
    let tool = "test_input_required_result_sampling";
    let mut server = start(&["--stdio"]);
    let refused = call(&mut server, 1, json!({"name": tool}));
    assert_eq!(refused["error"]["code"], -32021);
    assert_eq!(
        refused["error"]["data"]["requiredCapabilities"],
        json!({"sampling": {}})
    );
    initialize(&mut server);
    let failed = server.legacy(2, "tools/call", json!({"name": tool}));
    assert_eq!(failed["result"]["isError"], true);
}

#[test]
fn a_listener_receives_only_what_it_subscribed_to() {
    let mut server = start(&["--stdio"]);
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let first = server.modern(7, "subscriptions/listen", wanted);
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");

    // Changes are sent in order, so a notification about prompts would come before the one about tools.
    let prompts = json!({"name": "test_trigger_prompt_change"});
    assert_eq!(server.modern(8, "tools/call", prompts)["id"], 8);
    let tools = json!({"name": "test_trigger_tool_change"});
    server.send(&modern(9, "tools/call", tools));
    let mut messages = (0..2).map(|_| server.message());
    let received = messages.find(|message| message["id"].is_null()).unwrap();
    assert_eq!(received["method"], "notifications/tools/list_changed");
    let subscription = &received["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(subscription, 7);
}

#[test]
fn an_era_can_be_left_out() {
    let mut legacy = start(&["--stdio", "--era", "legacy"]);
    let unknown = legacy.modern(1, "server/discover", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
    initialize(&mut legacy);

    let mut modern_only = start(&["--stdio", "--era", "modern"]);
    let refused = modern_only.initialize();
    assert_eq!(refused["error"]["code"], -32022);
    assert_eq!(refused["error"]["data"]["supported"], json!(["2026-07-28"]));
    let listed = modern_only.modern(1, "tools/list", json!({}));
    assert_eq!(listed["result"]["resultType"], "complete");
}
