//! The JSON-RPC envelope: id, method, result or error. What is inside stays raw.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::surrogates::replace_lone;

/// Most messages in one batch, as old revisions allow them.
pub(crate) const BATCH_LIMIT: usize = 100;

/// What is wrong with an answer that is [`RpcResponse::TooDeep`] and not a list.
pub(crate) const TOO_DEEP: &str = "is nested deeper than allowed";

/// What came back for a request.
#[derive(Debug)]
pub(crate) enum RpcResponse {
    Result(Box<RawValue>),
    /// A result that is nested deeper than allowed. Only a list may use it, whose entries are checked one by one.
    TooDeep(Box<RawValue>),
    Error(RpcError),
}

/// A JSON-RPC error as the server wrote it.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Box<RawValue>>,
}

/// One message of a server.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// An answer; the error says what is wrong with it.
    Response {
        id: u64,
        answer: Result<RpcResponse, &'static str>,
    },
    /// An error that the server could not give to one request.
    UnaddressedError(RpcError),
    Request(ServerRequest<'a>),
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
}

/// A request of a server.
#[derive(Debug)]
pub(crate) struct ServerRequest<'a> {
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// Why a text is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageError {
    NotJson,
    NotRpc,
}

#[derive(Deserialize)]
struct RawMessage<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from a key that is not there.
pub(crate) fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one message. Scanning is iterative, so depth costs no stack; a result deeper than `depth` is marked, any
/// other payload of that depth is refused.
pub(crate) fn parse(text: &str, depth: usize) -> Result<Message<'_>, MessageError> {
    if !text.trim_start().starts_with('{') {
        // An array would be read as the fields in their order, which nobody means.
        return Err(serde_json::from_str::<IgnoredAny>(text)
            .map_or(MessageError::NotJson, |_| MessageError::NotRpc));
    }
    let fields: RawMessage<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return refuse(text, flaw_of(&error)),
    };
    let deep = is_deeper(text, depth);
    let version_is_known = fields
        .jsonrpc
        .is_some_and(|version| version.get() == "\"2.0\"");
    if let Some(method) = fields.method {
        let method = string(method).ok_or(MessageError::NotRpc)?;
        if deep || !version_is_known || fields.result.is_some() || fields.error.is_some() {
            return Err(MessageError::NotRpc);
        }
        return Ok(match fields.id {
            Some(id) => Message::Request(ServerRequest {
                id,
                method,
                params: fields.params,
            }),
            None => Message::Notification {
                method,
                params: fields.params,
            },
        });
    }
    let id: Option<u64> = fields.id.and_then(|id| id.get().parse().ok());
    let answer = match (fields.result, fields.error) {
        _ if !version_is_known => Err("does not say `\"jsonrpc\":\"2.0\"`"),
        (Some(_), Some(_)) => Err("has both a result and an error"),
        (None, None) => Err("has neither a result nor an error"),
        (Some(result), None) if deep => Ok(RpcResponse::TooDeep(result.to_owned())),
        (Some(result), None) => Ok(RpcResponse::Result(result.to_owned())),
        (None, Some(_)) if deep => Err(TOO_DEEP),
        (None, Some(error)) => rpc_error(error)
            .map(RpcResponse::Error)
            .ok_or("has an error without a code"),
    };
    match (id, answer) {
        (Some(id), answer) => Ok(Message::Response { id, answer }),
        (None, Ok(RpcResponse::Error(error))) => Ok(Message::UnaddressedError(error)),
        (None, _) => Err(MessageError::NotRpc),
    }
}

/// A message that cannot be used may still say whose answer it is; that caller is told at once and need
/// not wait for the time-out.
fn refuse(text: &str, flaw: MessageError) -> Result<Message<'_>, MessageError> {
    #[derive(Deserialize)]
    struct Addressed {
        id: Option<u64>,
        method: Option<IgnoredAny>,
    }
    let (why, readable) = match flaw {
        MessageError::NotRpc => ("has a key that stands twice", Cow::Borrowed(text)),
        MessageError::NotJson if text.contains('\0') => {
            ("holds a NUL byte", Cow::Owned(text.replace('\0', "")))
        }
        MessageError::NotJson => return Err(flaw),
    };
    match serde_json::from_str(&readable) {
        Ok(Addressed {
            id: Some(id),
            method: None,
        }) => Ok(Message::Response {
            id,
            answer: Err(why),
        }),
        _ => Err(flaw),
    }
}

/// The messages of a batch; more than the limit are refused as a whole.
pub(crate) fn batch(text: &str) -> Result<Vec<&RawValue>, MessageError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let elements = capped(&mut deserializer, BATCH_LIMIT).map_err(|error| flaw_of(&error))?;
    deserializer.end().map_err(|_| MessageError::NotJson)?;
    elements.ok_or(MessageError::NotRpc)
}

/// The elements of an array, or `None` when there are more than `limit`: a few bytes of JSON must not become many of memory.
pub(crate) fn capped<'de, D: Deserializer<'de>>(
    deserializer: D,
    limit: usize,
) -> Result<Option<Vec<&'de RawValue>>, D::Error> {
    struct Capped(usize);
    impl<'de> Visitor<'de> for Capped {
        type Value = Option<Vec<&'de RawValue>>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while elements.len() < self.0 {
                match seq.next_element()? {
                    Some(element) => elements.push(element),
                    None => return Ok(Some(elements)),
                }
            }
            let mut more = false;
            while seq.next_element::<IgnoredAny>()?.is_some() {
                more = true;
            }
            Ok((!more).then_some(elements))
        }
    }
    deserializer.deserialize_seq(Capped(limit))
}

/// The text of a JSON string, or `None` for anything else.
pub(crate) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    if let Ok(text) = serde_json::from_str::<Text<'_>>(raw.get()) {
        return Some(text.0);
    }
    // A text that was cut inside a character is still a text.
    let repaired = replace_lone(raw.get());
    serde_json::from_str::<String>(&repaired)
        .ok()
        .map(Cow::Owned)
}

fn rpc_error(raw: &RawValue) -> Option<RpcError> {
    #[derive(Deserialize)]
    struct WireError<'a> {
        code: i64,
        #[serde(borrow, default, deserialize_with = "present")]
        message: Option<&'a RawValue>,
        #[serde(borrow, default)]
        data: Option<&'a RawValue>,
    }
    let error: WireError<'_> = serde_json::from_str(raw.get()).ok()?;
    let message = error
        .message
        .and_then(string)
        .unwrap_or_default()
        .into_owned();
    Some(RpcError {
        code: error.code,
        message,
        data: error.data.map(ToOwned::to_owned),
    })
}

fn flaw_of(error: &serde_json::Error) -> MessageError {
    match error.classify() {
        serde_json::error::Category::Data => MessageError::NotRpc,
        _ => MessageError::NotJson,
    }
}

/// Whether brackets nest deeper than `limit`, found without recursion.
fn is_deeper(text: &str, limit: usize) -> bool {
    // What has few opening brackets cannot nest deep, and counting them is much quicker than telling strings apart.
    let opening = |byte: &&u8| matches!(**byte, b'[' | b'{');
    if text.len() <= limit || text.as_bytes().iter().filter(opening).count() <= limit {
        return false;
    }
    let mut depth = 0usize;
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b'"' => rest = after_string(rest),
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// What follows the string that is open here.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', rest) {
        let is_escape = rest.get(at) == Some(&b'\\');
        rest = rest
            .get(at + 1 + usize::from(is_escape)..)
            .unwrap_or_default();
        if !is_escape {
            return rest;
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match parse(text, 128) {
            Ok(Message::Response {
                id,
                answer: Ok(RpcResponse::Result(result)),
            }) => format!("result {id} {result}"),
            Ok(Message::Response {
                id,
                answer: Ok(RpcResponse::TooDeep(_)),
            }) => format!("deep {id}"),
            Ok(Message::Response {
                id,
                answer: Ok(RpcResponse::Error(error)),
            }) => format!("error {id} {}", error.code),
            Ok(Message::Response {
                id,
                answer: Err(why),
            }) => format!("bad {id} {why}"),
            Ok(Message::UnaddressedError(error)) => format!("complaint {}", error.code),
            Ok(Message::Request(ServerRequest { id, method, .. })) => {
                format!("request {id} {method}")
            }
            Ok(Message::Notification { method, .. }) => format!("note {method}"),
            Err(flaw) => format!("{flaw:?}"),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn messages_are_classified() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{"b":1,"a":2.50}}"#,
            r#"result 1 {"b":1,"a":2.50}"#,
        );
        check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "result 1 null");
        check(
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"m"}}"#,
            "error 2 -1",
        );
        check(
            r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#,
            "request \"x\" ping",
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications\/x"}"#,
            "note notifications/x",
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}"#,
            "complaint -32700",
        );
    }

    #[test]
    fn r_sec_01_ambiguous_messages_are_refused() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}}"#,
            "bad 1 has both a result and an error",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1}"#,
            "bad 1 has neither a result nor an error",
        );
        check(r#"{"jsonrpc":"2.0","id":1,"id":2,"result":1}"#, "NotRpc");
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#,
            "bad 1 has a key that stands twice",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            "NotRpc",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"Method":"ping"}"#,
            "bad 1 has neither a result nor an error",
        );
        check(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\0\"result\":1}",
            "bad 1 holds a NUL byte",
        );
        check("\0\0", "NotJson");
        check(
            r#"{"jsonrpc":"2.0","id":1,"Result":1}"#,
            "bad 1 has neither a result nor an error",
        );
        check(r#"{"jsonrpc":"2.0","id":-1,"result":1}"#, "NotRpc");
        check(
            r#"{"id":1,"result":1}"#,
            "bad 1 does not say `\"jsonrpc\":\"2.0\"`",
        );
        check("Server running on stdio", "NotJson");
        check("{broken", "NotJson");
        check("[]", "NotRpc");
        check("7", "NotRpc");
    }

    #[test]
    fn r_sec_01_a_depth_bomb_costs_no_stack() {
        let bomb = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{bomb}}}"#),
            "deep 1",
        );
        check(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"data":{bomb}}}}}"#),
            "bad 1 is nested deeper than allowed",
        );
        check(
            &format!(r#"{{"jsonrpc":"2.0","method":"note","params":{bomb}}}"#),
            "NotRpc",
        );
        check(&bomb, "NotRpc");
        check(&"[".repeat(100_000), "NotJson");
        let strings = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":"{}"}}"#,
            "[\\\"".repeat(200)
        );
        assert!(matches!(
            parse(&strings, 128),
            Ok(Message::Response { answer: Ok(_), .. })
        ));
    }

    #[test]
    fn a_batch_has_a_limit() {
        let of = |n: usize| format!("[{}]", vec!["1"; n].join(","));
        assert_eq!(batch(&of(100)).unwrap().len(), 100);
        assert_eq!(batch(&of(101)).unwrap_err(), MessageError::NotRpc);
        assert_eq!(batch("[1").unwrap_err(), MessageError::NotJson);
    }
}
