//! The MCP server behind the protection: the handshake era, JSON answers, three tools.

use axum::response::Response;
use serde_json::{Value, json};

use super::reply;

/// The answer to a message.
pub(super) fn respond(message: &Value) -> Response {
    let id = &message["id"];
    if id.is_null() {
        return reply::text(202, "application/json", String::new());
    }
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "protected", "version": "1.0.0"},
        }),
        "ping" => json!({}),
        "tools/list" => json!({"tools": tools()}),
        "tools/call" => call(&message["params"]),
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return reply::json(200, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    reply::json(200, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// `read_note` changes nothing, `count` has an effect at each call, `write_note` is what needs more rights.
fn tools() -> Value {
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    json!([
        {"name": "read_note", "description": "Reads a note.", "inputSchema": schema, "annotations": {"readOnlyHint": true}},
        {"name": "count", "description": "Counts calls.", "inputSchema": schema},
        {"name": "write_note", "description": "Writes a note.", "inputSchema": schema},
    ])
}

fn call(params: &Value) -> Value {
    let text = params["arguments"]["text"].as_str().unwrap_or_default();
    let name = params["name"].as_str().unwrap_or_default();
    json!({"content": [{"type": "text", "text": format!("{name}: {text}")}]})
}
