//! JSON-RPC messages of servers and clients.

use std::collections::HashMap;

use bytes::Bytes;
use pegboard_gateway::{Message as ClientMessage, MessageKind};
use pegboard_jsonrpc::{BATCH_LIMIT, Members, Message, Request, RpcResponse, quoted, replace_lone};
use serde_json::Value;
use serde_json::value::RawValue;

const DEPTH: usize = 16;

/// The envelope of a server's message: payloads are verbatim, a parsed message survives being written and parsed again,
/// and editing members keeps the value. Passes if the text is a message.
pub(crate) fn envelope(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let repaired = replace_lone(text);
    assert_eq!(repaired.len(), text.len());
    assert_eq!(replace_lone(&repaired), repaired);
    if let Ok(batch) = pegboard_jsonrpc::parse_batch(text) {
        assert!(batch.len() <= BATCH_LIMIT);
    }
    if let Some(members) = Members::of(text) {
        let written = members.to_string();
        assert_eq!(Members::of(&written).unwrap().0, members.0);
        if let Ok(value) = serde_json::from_str::<Value>(text) {
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        }
    }
    let Ok(message) = pegboard_jsonrpc::parse(text, DEPTH) else {
        return false;
    };
    let written = match &message {
        Message::Request(Request { id, method, params }) => {
            assert!(text.contains(id.get()));
            let params = params.map_or("{}", RawValue::get);
            assert!(nesting(params) <= DEPTH);
            let method = quoted(method);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{params}}}"#)
        }
        Message::Notification { method, params } => {
            let params = params.map_or("{}", RawValue::get);
            assert!(nesting(params) <= DEPTH);
            let method = quoted(method);
            format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#)
        }
        Message::Response {
            id,
            response: Ok(RpcResponse::Result(result)),
        } => {
            assert!(text.contains(result.get()) && nesting(result.get()) < DEPTH);
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
        }
        Message::Response { .. } | Message::UnaddressedError(_) => return true,
    };
    let again = pegboard_jsonrpc::parse(&written, DEPTH).unwrap();
    // Absent parameters were written as an empty object.
    let shown = |message: &Message<'_>| {
        let shown = format!("{message:?}").replace("Some(RawValue({}))", "None");
        shown.replace(r#"Some(RawValue("{}"))"#, "None")
    };
    assert_eq!(shown(&again), shown(&message));
    true
}

/// The nesting depth of valid JSON text.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// A client's message: it has the members that its kind requires, the id is verbatim, and an error is one line that is
/// a valid error response. Passes if the text is a message.
pub(crate) fn client_message(input: &[u8]) -> bool {
    let message = match ClientMessage::parse(Bytes::copy_from_slice(input)) {
        Ok(message) => message,
        Err(response) => {
            assert_eq!(response.status, 400);
            let bytes = response.into_bytes();
            assert!(!bytes.contains(&b'\n'));
            // The id stays raw, because it may be a number that no type of Rust holds.
            let members: HashMap<&str, &RawValue> = serde_json::from_slice(&bytes).unwrap();
            let error: Value = serde_json::from_str(members["error"].get()).unwrap();
            let code = error["code"].as_i64().unwrap();
            assert!([-32700, -32600, -32602].contains(&code), "{error}");
            return false;
        }
    };
    let text = std::str::from_utf8(input).unwrap();
    if let Some(id) = message.id() {
        assert!(id.get().len() <= 1024 && text.contains(id.get()));
    }
    assert!(message.method().len() <= 128);
    // A message may contain values that this representation cannot hold, such as a number of 400 digits.
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return true;
    };
    let has = |key: &str| value.get(key).is_some();
    assert_eq!(value["jsonrpc"], "2.0");
    let expected = match message.kind() {
        MessageKind::Request => has("id") && has("method"),
        MessageKind::Notification => !has("id") && has("method"),
        MessageKind::Response => has("id") && (has("result") || has("error")),
    };
    assert!(expected, "{value}");
    if message.kind() == MessageKind::Request {
        assert_eq!(value["method"], message.method());
        let member = match message.method().starts_with("resources/") {
            true => "uri",
            false => "name",
        };
        assert_eq!(value["params"][member].as_str(), message.subject());
    }
    true
}
