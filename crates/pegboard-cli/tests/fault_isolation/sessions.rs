//! Legacy sessions survive a restart, and unknown sessions are rejected.

use serde_json::{Value, json};

use crate::gateway::{Reply, post, serve};
use crate::support::{Home, Running};

fn stop(mut running: Running) {
    running.signal("-TERM");
    running.wait();
}

fn ask(port: u16, session: &str, method: &str, params: &Value) -> Reply {
    let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    post(port, "/mcp", &headers, &body)
}

fn begin(port: u16) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let reply = post(port, "/mcp", "", &hello);
    assert_eq!(reply.status, 200, "{}", reply.head);
    reply
        .header("Mcp-Session-Id")
        .expect("a session")
        .to_owned()
}

#[test]
fn r_gate_01_a_session_keeps_its_id_over_a_restart() {
    let home = Home::with_example();
    let (first, port) = serve(&home, "0");
    let session = begin(port);
    let sum = json!({"name": "example__add_numbers", "arguments": {"a": 19, "b": 23}});
    let before = ask(port, &session, "tools/call", &sum);
    stop(first);
    let (second, again) = serve(&home, &port.to_string());
    assert_eq!(again, port);
    let after = ask(port, &session, "tools/call", &sum);
    assert_eq!((before.status, after.status), (200, 200));
    assert_eq!(after.message(), before.message());
    assert!(after.message().to_string().contains("42"));
    stop(second);
    home.assert_nothing_runs();
}

#[test]
fn r_gate_01_a_session_that_is_not_known_is_answered_with_404() {
    let home = Home::with_example();
    let (running, port) = serve(&home, "0");
    let known = begin(port);
    let nothing = json!({});
    for unknown in ["an-unknown-session-id", &"x".repeat(2_000)] {
        let reply = ask(port, unknown, "tools/list", &nothing);
        assert_eq!(reply.status, 404, "{}", reply.head);
        assert_eq!(reply.message()["error"]["code"], -32001);
    }
    let altered = format!("{}x", known.get(1..).unwrap_or_default());
    assert_eq!(ask(port, &altered, "tools/list", &nothing).status, 404);
    assert_eq!(ask(port, &known, "tools/list", &nothing).status, 200);
    stop(running);
    home.assert_nothing_runs();
}
