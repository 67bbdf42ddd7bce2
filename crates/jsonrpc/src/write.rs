//! Serializes messages, each on a single line.

use std::fmt::Write;

use pegboard_model::RpcError;
use serde_json::value::RawValue;

/// Serializes a request, without a line end.
pub fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Serializes a notification, without a line end.
pub fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// Serializes the notification that cancels a request.
pub fn cancelled(id: u64) -> String {
    notification(
        "notifications/cancelled",
        &format!(r#"{{"requestId":{id},"reason":"no longer wanted"}}"#),
    )
}

/// Serializes a response with a result.
pub fn result_response(id: &RawValue, result: &str) -> String {
    let mut frame = String::with_capacity(64 + result.len());
    let _ = write!(frame, r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
    push_single_line(&mut frame, result);
    frame.push('}');
    frame
}

/// Serializes a response with an error.
pub fn error_response(id: &RawValue, error: &RpcError) -> String {
    let mut frame = String::new();
    let _ = write!(
        frame,
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":"#,
        error.code
    );
    push_quoted(&mut frame, &error.message);
    if let Some(data) = &error.data {
        frame.push_str(r#","data":"#);
        push_single_line(&mut frame, data);
    }
    frame.push_str("}}");
    frame
}

/// Appends JSON on one line: line breaks of a pretty-printed value would end the frame. In valid JSON they occur only
/// between tokens.
pub fn push_single_line(frame: &mut String, json: &str) {
    let mut rest = json;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        let (head, tail) = rest.split_at(at);
        frame.push_str(head);
        frame.push(' ');
        rest = tail.get(1..).unwrap_or_default();
    }
    frame.push_str(rest);
}

/// Appends a text as a JSON string.
pub fn push_quoted(frame: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        frame.push('"');
        frame.push_str(text);
        frame.push('"');
    } else {
        frame.push_str(&quoted(text));
    }
}

/// Returns a text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stay_on_one_line() {
        let mut frame = String::new();
        push_single_line(&mut frame, "{\n  \"text\": \"a\\nb\"\r\n}");
        assert_eq!(frame, "{   \"text\": \"a\\nb\"  }");
        let mut frame = String::new();
        push_quoted(&mut frame, "plain ä");
        push_quoted(&mut frame, "t\"x\n");
        assert_eq!(frame, r#""plain ä""t\"x\n""#);
    }

    #[test]
    fn responses_keep_their_payload() {
        let id: Box<RawValue> = RawValue::from_string("\"s-1\"".into()).unwrap();
        assert_eq!(
            result_response(&id, "{\"a\":\n1.50}"),
            r#"{"jsonrpc":"2.0","id":"s-1","result":{"a": 1.50}}"#
        );
        let error = RpcError {
            code: -1,
            message: "no".into(),
            data: Some("[1]".into()),
        };
        assert_eq!(
            error_response(&id, &error),
            r#"{"jsonrpc":"2.0","id":"s-1","error":{"code":-1,"message":"no","data":[1]}}"#
        );
    }
}
