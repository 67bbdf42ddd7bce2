//! How requests are written in each era.

use std::fmt::Write;

use pegboard_model::{Era, RpcError};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The revision in which every request stands alone.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
/// Every modern revision known here, the best first.
pub(crate) const MODERN_VERSIONS: &[&str] = &[MODERN_VERSION];
/// The revision offered in `initialize`.
pub(crate) const LEGACY_VERSION: &str = "2025-11-25";
/// Every revision accepted back.
pub(crate) const LEGACY_VERSIONS: &[&str] =
    &["2024-11-05", "2025-03-26", "2025-06-18", LEGACY_VERSION];

const META_PREFIX: &str = "io.modelcontextprotocol/";
/// The member of `_meta` that asks a modern server for log messages, and for a legacy one is a request of its own.
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_TOKEN: &str = "progressToken";

/// What every legacy server is told that its client can do, whoever that is: a server that lists its tools by it
/// lists the same ones to everybody. What a client cannot do is refused when it is asked.
const LEGACY_CAPABILITIES: &str = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"context":{},"tools":{}},"roots":{"listChanged":true}}"#;

/// Who Pegboard says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl ClientInfo {
    pub(crate) fn json(&self) -> String {
        format!(
            r#"{{"name":{},"version":{}}}"#,
            quoted(&self.name),
            quoted(&self.version)
        )
    }
}

/// The way of writing that a conversation agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    pub(crate) era: Era,
    pub(crate) version: String,
    /// What every modern request's `_meta` holds, ready to be written; the capabilities follow.
    meta: String,
}

/// What a request's `_meta` says beside what its era always says.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestMeta<'a> {
    /// Members that the caller wants.
    pub(crate) more: Option<&'a Map<String, Value>>,
    /// What the client behind the request can do, as JSON text.
    pub(crate) capabilities: Option<&'a str>,
    /// Asks for progress under this token.
    pub(crate) progress: Option<u64>,
}

impl Dialect {
    pub(crate) fn modern(version: &str, client: &ClientInfo) -> Self {
        let meta = format!(
            r#""{META_PREFIX}protocolVersion":{},"{META_PREFIX}clientInfo":{},"{META_PREFIX}clientCapabilities":"#,
            quoted(version),
            client.json()
        );
        Self {
            era: Era::Modern,
            version: version.to_owned(),
            meta,
        }
    }

    pub(crate) fn legacy(version: &str) -> Self {
        Self {
            era: Era::Legacy,
            version: version.to_owned(),
            meta: String::new(),
        }
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.era == Era::Modern
    }

    /// The `params` of a request of our own: its members and, where the era has it, `_meta`.
    pub(crate) fn params(&self, members: &str) -> String {
        let mut params = String::from("{");
        params.push_str(members);
        self.push_meta(&mut params, RequestMeta::default());
        params.push('}');
        params
    }

    /// Writes `_meta` after the members that stand there, where there is something to say.
    pub(crate) fn push_meta(&self, frame: &mut String, extras: RequestMeta<'_>) {
        let before = frame.len();
        if !frame.ends_with('{') {
            frame.push(',');
        }
        frame.push_str(r#""_meta":{"#);
        let opened = frame.len();
        if self.is_modern() {
            frame.push_str(&self.meta);
            push_line(frame, extras.capabilities.unwrap_or("{}"));
        }
        if let Some(token) = extras.progress {
            push_comma(frame, opened);
            let _ = write!(frame, r#""{PROGRESS_TOKEN}":{token}"#);
        }
        for (key, value) in extras.more.into_iter().flatten() {
            if self.is_own(key) {
                continue;
            }
            push_comma(frame, opened);
            push_quoted(frame, key);
            let _ = write!(frame, ":{value}");
        }
        if frame.len() == opened {
            frame.truncate(before);
        } else {
            frame.push('}');
        }
    }

    /// Whether callers may not write this member: it is ours, or the other era's.
    fn is_own(&self, key: &str) -> bool {
        match self.era {
            Era::Modern => {
                key == PROGRESS_TOKEN || key.starts_with(META_PREFIX) && key != LOG_LEVEL
            }
            Era::Legacy => key == PROGRESS_TOKEN || key == LOG_LEVEL,
        }
    }
}

fn push_comma(frame: &mut String, opened: usize) {
    if frame.len() > opened {
        frame.push(',');
    }
}

/// A request on the wire, without a line end.
pub(crate) fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// A notification on the wire, without a line end.
pub(crate) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

/// The notification that takes a request back.
pub(crate) fn cancelled(id: u64) -> String {
    notification(
        "notifications/cancelled",
        &format!(r#"{{"requestId":{id},"reason":"no longer wanted"}}"#),
    )
}

/// Our answer to a request of a server.
pub(crate) fn reply(id: &RawValue, result: &str) -> String {
    let mut frame = String::with_capacity(64 + result.len());
    let _ = write!(frame, r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
    push_line(&mut frame, result);
    frame.push('}');
    frame
}

/// Our refusal of a request of a server.
pub(crate) fn refusal(id: &RawValue, error: &RpcError) -> String {
    let mut frame = String::new();
    let _ = write!(
        frame,
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":"#,
        error.code
    );
    push_quoted(&mut frame, &error.message);
    if let Some(data) = &error.data {
        frame.push_str(r#","data":"#);
        push_line(&mut frame, data);
    }
    frame.push_str("}}");
    frame
}

/// The params of `initialize`.
pub(crate) fn initialize_params(client: &ClientInfo) -> String {
    format!(
        r#"{{"protocolVersion":"{LEGACY_VERSION}","capabilities":{LEGACY_CAPABILITIES},"clientInfo":{}}}"#,
        client.json()
    )
}

/// Writes JSON on one line: line breaks of a pretty-printed value would end the line on the wire. In valid JSON
/// they stand only between tokens.
pub(crate) fn push_line(frame: &mut String, json: &str) {
    let mut rest = json;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        let (head, tail) = rest.split_at(at);
        frame.push_str(head);
        frame.push(' ');
        rest = tail.get(1..).unwrap_or_default();
    }
    frame.push_str(rest);
}

/// Writes a text as a JSON string.
pub(crate) fn push_quoted(frame: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        frame.push('"');
        frame.push_str(text);
        frame.push('"');
    } else {
        frame.push_str(&quoted(text));
    }
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ClientInfo {
        ClientInfo {
            name: "pegboard".into(),
            version: "0".into(),
        }
    }

    fn params(dialect: &Dialect, members: &str, extras: RequestMeta<'_>) -> String {
        let mut params = format!("{{{members}");
        dialect.push_meta(&mut params, extras);
        params.push('}');
        params
    }

    #[test]
    fn a_modern_request_carries_its_meta_and_callers_cannot_override_it() {
        let mut more = Map::new();
        more.insert("traceparent".into(), "00-1".into());
        more.insert("progressToken".into(), "theirs".into());
        more.insert(LOG_LEVEL.into(), "debug".into());
        more.insert(
            "io.modelcontextprotocol/protocolVersion".into(),
            "1999".into(),
        );
        let extras = RequestMeta {
            more: Some(&more),
            capabilities: Some("{\n\"roots\":{}}"),
            progress: Some(7),
        };
        let modern = Dialect::modern(MODERN_VERSION, &client());
        let params = params(&modern, r#""a":1"#, extras);
        assert!(!params.contains('\n'), "{params}");
        let value: Value = serde_json::from_str(&params).unwrap();
        assert_eq!(value["a"], 1);
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/protocolVersion"],
            MODERN_VERSION
        );
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            serde_json::json!({"roots": {}})
        );
        assert_eq!(
            value["_meta"]["io.modelcontextprotocol/clientInfo"]["name"],
            "pegboard"
        );
        assert_eq!(value["_meta"]["traceparent"], "00-1");
        assert_eq!(value["_meta"]["progressToken"], 7);
        assert_eq!(value["_meta"][LOG_LEVEL], "debug");
        let plain: Value = serde_json::from_str(&modern.params("")).unwrap();
        assert_eq!(
            plain["_meta"]["io.modelcontextprotocol/clientCapabilities"],
            serde_json::json!({})
        );
    }

    #[test]
    fn a_legacy_request_has_meta_only_when_there_is_some() {
        let legacy = Dialect::legacy(LEGACY_VERSION);
        let nothing = RequestMeta::default();
        assert_eq!(params(&legacy, "", nothing), "{}");
        assert_eq!(params(&legacy, "\"a\":1", nothing), "{\"a\":1}");
        let mut more = Map::new();
        more.insert("x".into(), 1.into());
        more.insert(LOG_LEVEL.into(), "debug".into());
        let extras = RequestMeta {
            more: Some(&more),
            capabilities: Some("{}"),
            progress: None,
        };
        assert_eq!(params(&legacy, "", extras), r#"{"_meta":{"x":1}}"#);
        let extras = RequestMeta {
            progress: Some(3),
            ..extras
        };
        assert_eq!(
            params(&legacy, "\"a\":1", extras),
            r#"{"a":1,"_meta":{"progressToken":3,"x":1}}"#
        );
    }

    #[test]
    fn what_is_passed_on_stays_on_one_line() {
        let mut frame = String::new();
        push_line(&mut frame, "{\n  \"text\": \"a\\nb\"\r\n}");
        assert_eq!(frame, "{   \"text\": \"a\\nb\"  }");
        let mut frame = String::new();
        push_quoted(&mut frame, "plain ä");
        push_quoted(&mut frame, "t\"x\n");
        assert_eq!(frame, r#""plain ä""t\"x\n""#);
    }

    #[test]
    fn our_answers_are_written_as_the_client_gave_them() {
        let id: Box<RawValue> = RawValue::from_string("\"s-1\"".into()).unwrap();
        assert_eq!(
            reply(&id, "{\"a\":\n1.50}"),
            r#"{"jsonrpc":"2.0","id":"s-1","result":{"a": 1.50}}"#
        );
        let error = RpcError {
            code: -1,
            message: "no".into(),
            data: Some("[1]".into()),
        };
        assert_eq!(
            refusal(&id, &error),
            r#"{"jsonrpc":"2.0","id":"s-1","error":{"code":-1,"message":"no","data":[1]}}"#
        );
    }
}
