//! Tests of the replaying server over pipes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod pipe;

use pegboard_testkit::{binary, starts_in};
use pipe::{Pipe, tool_names};
use serde_json::{Value, json};

const RECORDING: &str = r#"{
 "serverInfo": {"name": "recorded", "version": "3.1"},
 "instructions": "Use it well.",
 "tools": [
  {"zeta": 1.0, "name": "b tool", "inputSchema": {"type": "object"}, "x": 12345678901234567890123},
  {"name": "a", "description": "two  spaces\nand \"quotes\""}
 ]
}"#;

fn start(more: &[&str]) -> (Pipe, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("list.json");
    std::fs::write(&file, RECORDING).unwrap();
    let mut args = vec![file.display().to_string()];
    args.push("--count-file".to_owned());
    args.push(folder.path().join("count").display().to_string());
    args.extend(more.iter().map(|word| (*word).to_owned()));
    (Pipe::start(binary("pegboard-replay"), &args), folder)
}

#[test]
fn a_recording_is_served_byte_for_byte_in_both_eras() {
    let (mut server, folder) = start(&["--delay-ms", "20"]);
    server.send(&pipe::modern(1, "tools/list", json!({})));
    let line = String::from_utf8(server.line().unwrap()).unwrap();
    let first = r#"{"zeta":1.0,"name":"b tool","inputSchema":{"type":"object"},"x":12345678901234567890123}"#;
    let second = r#"{"name":"a","description":"two  spaces\nand \"quotes\""}"#;
    assert!(
        line.contains(&format!("\"tools\":[{first},{second}]")),
        "{line}"
    );
    let opened = server.initialize();
    assert_eq!(opened["result"]["serverInfo"]["name"], "recorded");
    assert_eq!(opened["result"]["instructions"], "Use it well.");
    assert_eq!(
        tool_names(&server.legacy(3, "tools/list", json!({}))),
        ["b tool", "a"]
    );
    let called = server.legacy(
        4,
        "tools/call",
        json!({"name": "a", "arguments": {"k": [1]}}),
    );
    assert_eq!(
        called["result"]["content"][0]["text"],
        r#"called a with {"k":[1]}"#
    );
    assert_eq!(starts_in(&folder.path().join("count")), [server.pid()]);
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn an_era_can_be_left_out() {
    let code = |response: Value| response["error"]["code"].clone();
    let (mut legacy, _folder) = start(&["--era", "legacy"]);
    assert_eq!(code(legacy.modern(1, "server/discover", json!({}))), -32601);
    assert_eq!(legacy.initialize()["id"], 0);
    let (mut modern, _folder) = start(&["--era", "modern"]);
    assert_eq!(code(modern.initialize()), -32022);
    assert_eq!(
        modern.modern(2, "server/discover", json!({}))["result"]["resultType"],
        "complete"
    );
}

#[test]
fn a_file_that_is_not_there_is_a_usage_error() {
    let args = ["no/such/file.json".to_owned()];
    assert_eq!(
        Pipe::start(binary("pegboard-replay"), &args).exit_code(),
        Some(2)
    );
}
