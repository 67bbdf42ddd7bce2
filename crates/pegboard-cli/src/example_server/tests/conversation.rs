//! Protocol tests of both eras and of invalid messages.

use serde_json::{Value, json};

use super::{answers, converse, initialize, modern, one, request};

#[test]
fn modern_era_discovers_and_lists_without_a_handshake() {
    let response = one(modern("server/discover", json!({})));
    let result = &response["result"];
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["cacheScope"], "public");
    assert!(result["ttlMs"].as_u64().unwrap() > 0);
    assert!(result["capabilities"]["tools"].is_object());
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(info["name"], "pegboard-example");

    let list = one(modern("tools/list", json!({})));
    assert_eq!(list["result"]["resultType"], "complete");
    assert_eq!(list["result"]["cacheScope"], "public");
    assert!(list["result"]["tools"].as_array().unwrap().len() >= 12);
}

#[test]
fn legacy_era_begins_with_initialize() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let messages = [
            initialize(version),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            request("tools/list", json!({})),
            request(
                "tools/call",
                json!({"name": "echo", "arguments": {"text": "hi"}}),
            ),
            request("ping", json!({})),
        ];
        let answers = converse(&messages);
        assert_eq!(answers.len(), 4, "a notification is not answered");
        assert_eq!(answers[0]["result"]["protocolVersion"], version);
        assert_eq!(
            answers[0]["result"]["serverInfo"]["name"],
            "pegboard-example"
        );
        assert!(answers[1]["result"]["tools"].as_array().unwrap().len() >= 12);
        assert_eq!(answers[1]["result"]["resultType"], Value::Null);
        assert_eq!(answers[2]["result"]["content"][0]["text"], "hi");
        assert_eq!(answers[3]["result"], json!({}));
    }
    for unknown in ["2026-07-28", "1999-01-01"] {
        assert_eq!(
            one(initialize(unknown))["result"]["protocolVersion"],
            "2025-11-25"
        );
    }
}

#[track_caller]
fn check_error(message: Value, code: i64) -> Value {
    let response = one(message);
    assert_eq!(response["error"]["code"], code, "{response}");
    response
}

#[test]
fn requests_without_required_fields_of_their_era_are_refused() {
    check_error(request("tools/list", json!({})), -32602);
    check_error(request("server/discover", json!({})), -32602);
    let no_capabilities =
        json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    check_error(request("tools/list", no_capabilities), -32602);
    let mut other = modern("tools/list", json!({}));
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let response = check_error(other, -32022);
    assert_eq!(
        response["error"]["data"]["supported"],
        json!(["2026-07-28"])
    );
    assert_eq!(response["error"]["data"]["requested"], "2030-01-01");
    check_error(request("initialize", json!({})), -32602);
    check_error(modern("ping", json!({})), -32601);
    check_error(modern("prompts/list", json!({})), -32601);
    check_error(modern("tools/list", json!({"cursor": ""})), -32602);
    check_error(
        modern("tools/call", json!({"name": "no_such_tool"})),
        -32602,
    );
    check_error(modern("tools/call", json!({})), -32602);
}

#[test]
fn invalid_messages_get_errors_and_the_session_continues() {
    let mut input = b"\n  \nnot json\n[]\n{\"id\":1}\n\xff\xfe\n".to_vec();
    input.extend(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n");
    input.extend(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n");
    input.extend("[".repeat(100_000).as_bytes());
    input.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}");
    let answers = answers(&input);
    let codes: Vec<_> = answers
        .iter()
        .map(|response| response["error"]["code"].as_i64())
        .collect();
    let expected = [-32700, -32600, -32600, -32700, -32600, -32700].map(Some);
    assert_eq!(codes[..6], expected);
    assert_eq!(answers.last().unwrap()["id"], "last");
    assert_eq!(answers.last().unwrap()["result"], json!({}));
}

#[test]
fn r_sec_01_a_line_beyond_the_limit_is_skipped() {
    let mut input = vec![b'x'; pegboard_model::Limits::default().frame_bytes + 10];
    input.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    let answers = answers(&input);
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["error"]["code"], -32700);
    assert_eq!(answers[1]["id"], 1);
}
