//! `tools/call`.

use serde_json::{Value, json};

use crate::response::Body;
use crate::server::Server;

/// A PNG of one pixel.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The response to `tools/call`; `client_replies` are the client's replies to the server's requests.
pub(crate) fn call(server: &Server, params: &Value, client_replies: &[String]) -> Body {
    let Some(name) = params.get("name").and_then(Value::as_str) else {
        return Body::error(-32602, "`name` is missing");
    };
    if !server.has_tool(name) {
        return Body::error(-32602, format!("Unknown tool: {name}"));
    }
    let script = &server.script.call;
    let mut content = vec![json!({"type": "text", "text": text_of(server, name, params)})];
    content.extend(
        client_replies
            .iter()
            .map(|text| json!({"type": "text", "text": text})),
    );
    if script.image {
        content.push(json!({"type": "image", "data": IMAGE, "mimeType": "image/png"}));
    }
    let mut result = json!({"content": content});
    if script.is_error {
        result["isError"] = json!(true);
    }
    if let Some(structured) = &script.structured {
        result["structuredContent"] = structured.clone();
    }
    if script.extra_fields {
        result["x-vendor"] = json!({"zeta": 1, "alpha": 12345678901234567890_u64});
        result["_meta"] = json!({"example.com/cost": 0.25});
    }
    Body::Result(result)
}

fn text_of(server: &Server, name: &str, params: &Value) -> String {
    match server.script.call.result_bytes {
        None if server.script.call.attacks => crate::attack::attack(&params["arguments"]),
        Some(bytes) => "r".repeat(bytes),
        None => {
            let arguments = params.get("arguments").cloned().unwrap_or(Value::Null);
            let mut text = json!({"tool": name, "arguments": arguments});
            if server.script.call.echoes_meta {
                text["_meta"] = params["_meta"].clone();
            }
            text.to_string()
        }
    }
}
