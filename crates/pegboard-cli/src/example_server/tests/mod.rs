//! Tests that run the server in memory.

use serde_json::{Value, json};

use super::run;

mod conversation;
mod tools;

/// Returns the responses to messages, in order.
fn converse(messages: &[Value]) -> Vec<Value> {
    let lines: String = messages
        .iter()
        .map(|message| format!("{message}\n"))
        .collect();
    answers(lines.as_bytes())
}

fn answers(input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    run(input, &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(method, params)
}

fn initialize(version: &str) -> Value {
    request(
        "initialize",
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {}}),
    )
}

fn one(message: Value) -> Value {
    let mut answers = converse(&[message]);
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

fn call(tool: &str, arguments: Value) -> Value {
    let response = one(modern(
        "tools/call",
        json!({"name": tool, "arguments": arguments}),
    ));
    assert_eq!(response["result"]["resultType"], "complete", "{response}");
    response["result"].clone()
}

/// Checks the text of a successful call.
#[track_caller]
fn check_text(tool: &str, arguments: Value, expected: &str) {
    let result = call(tool, arguments);
    assert_eq!(result["isError"], Value::Null, "{result}");
    assert_eq!(result["content"][0]["text"], expected, "{tool}");
}

/// Checks the structured data of a successful call, and that its text is the same.
#[track_caller]
fn check_data(tool: &str, arguments: Value, expected: Value) {
    let result = call(tool, arguments);
    assert_eq!(result["structuredContent"], expected, "{tool}: {result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
    check_shape(tool, &expected);
}

/// Checks that the keys of a result match the output schema.
#[track_caller]
fn check_shape(tool: &str, data: &Value) {
    let list = one(modern("tools/list", json!({})));
    let tools = list["result"]["tools"].as_array().unwrap();
    let schema = &tools.iter().find(|other| other["name"] == tool).unwrap()["outputSchema"];
    let known = schema["properties"].as_object().unwrap();
    assert!(
        data.as_object()
            .unwrap()
            .keys()
            .all(|key| known.contains_key(key)),
        "{tool}"
    );
    for key in schema["required"].as_array().unwrap() {
        assert!(!data[key.as_str().unwrap()].is_null(), "{tool} lacks {key}");
    }
}

/// Checks that a tool refuses arguments with a hint.
#[track_caller]
fn check_refused(tool: &str, arguments: Value, hint: &str) {
    let result = call(tool, arguments);
    assert_eq!(result["isError"], true, "{tool}: {result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(hint), "{tool}: {text:?} lacks {hint:?}");
}
