//! The JSON-RPC envelope: id, method, result or error. Payloads stay raw.

use std::borrow::Cow;

use pegboard_model::RpcError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::raw::{capped_array, present, string};

/// The maximum number of messages in a batch, which older revisions allow.
pub const BATCH_LIMIT: usize = 100;

/// What is wrong with a [`RpcResponse::TooDeep`] that is not a list.
pub const TOO_DEEP: &str = "is nested deeper than allowed";

/// The response to a request.
#[derive(Debug)]
pub enum RpcResponse {
    /// A result.
    Result(Box<RawValue>),
    /// A result that is nested deeper than allowed. Only lists use it, because their entries are checked one by one.
    TooDeep(Box<RawValue>),
    /// An error.
    Error(RpcError),
}

/// A message from a server.
#[derive(Debug)]
pub enum Message<'a> {
    /// A response to one of our requests.
    Response {
        /// The id of our request.
        id: u64,
        /// The response, or what is wrong with it.
        response: Result<RpcResponse, &'static str>,
    },
    /// An error that the server could not attribute to a request.
    UnaddressedError(RpcError),
    /// A request.
    Request(Request<'a>),
    /// A notification.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The parameters, if there are any.
        params: Option<&'a RawValue>,
    },
}

/// A request from a server.
#[derive(Debug)]
pub struct Request<'a> {
    /// The id, to be repeated in the response.
    pub id: &'a RawValue,
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters, if there are any.
    pub params: Option<&'a RawValue>,
}

/// Why a text is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It is not JSON.
    NotJson,
    /// It is JSON, but not a JSON-RPC message.
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

/// Parses one message. Scanning is iterative, so nesting uses no stack. A result nested deeper than `depth` is marked
/// as such; any other payload of that depth is refused.
///
/// # Errors
/// Fails if the text is not JSON or not a JSON-RPC message.
pub fn parse(text: &str, depth: usize) -> Result<Message<'_>, MessageError> {
    if !text.trim_start().starts_with('{') {
        // serde would read an array as the fields in order.
        return Err(serde_json::from_str::<IgnoredAny>(text)
            .map_or(MessageError::NotJson, |_| MessageError::NotRpc));
    }
    let fields: RawMessage<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return refuse(text, error_kind(&error)),
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
            Some(id) => Message::Request(Request {
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
    let response = match (fields.result, fields.error) {
        _ if !version_is_known => Err("lacks `\"jsonrpc\":\"2.0\"`"),
        (Some(_), Some(_)) => Err("has both a result and an error"),
        (None, None) => Err("has neither a result nor an error"),
        (Some(result), None) if deep => Ok(RpcResponse::TooDeep(result.to_owned())),
        (Some(result), None) => Ok(RpcResponse::Result(result.to_owned())),
        (None, Some(_)) if deep => Err(TOO_DEEP),
        (None, Some(error)) => error_object(error)
            .map(RpcResponse::Error)
            .ok_or("has an error without a code"),
    };
    match (id, response) {
        (Some(id), response) => Ok(Message::Response { id, response }),
        (None, Ok(RpcResponse::Error(error))) => Ok(Message::UnaddressedError(error)),
        (None, _) => Err(MessageError::NotRpc),
    }
}

/// A message that cannot be used may still name its request. That caller then fails at once and need not wait for its
/// timeout.
fn refuse(text: &str, error: MessageError) -> Result<Message<'_>, MessageError> {
    #[derive(Deserialize)]
    struct Addressed {
        id: Option<u64>,
        method: Option<IgnoredAny>,
    }
    let (why, readable) = match error {
        MessageError::NotRpc => ("has a duplicate key", Cow::Borrowed(text)),
        MessageError::NotJson if text.contains('\0') => {
            ("contains a NUL byte", Cow::Owned(text.replace('\0', "")))
        }
        MessageError::NotJson => return Err(error),
    };
    match serde_json::from_str(&readable) {
        Ok(Addressed {
            id: Some(id),
            method: None,
        }) => Ok(Message::Response {
            id,
            response: Err(why),
        }),
        _ => Err(error),
    }
}

/// Splits a batch into its messages.
///
/// # Errors
/// Fails if the text is not an array, or has more than [`BATCH_LIMIT`] elements.
pub fn parse_batch(text: &str) -> Result<Vec<&RawValue>, MessageError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let elements =
        capped_array(&mut deserializer, BATCH_LIMIT).map_err(|error| error_kind(&error))?;
    deserializer.end().map_err(|_| MessageError::NotJson)?;
    elements.ok_or(MessageError::NotRpc)
}

fn error_object(raw: &RawValue) -> Option<RpcError> {
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
        data: error.data.map(|data| data.get().to_owned()),
    })
}

fn error_kind(error: &serde_json::Error) -> MessageError {
    match error.classify() {
        serde_json::error::Category::Data => MessageError::NotRpc,
        _ => MessageError::NotJson,
    }
}

/// Returns whether brackets nest deeper than `limit`, without recursion.
fn is_deeper(text: &str, limit: usize) -> bool {
    // A text with few opening brackets cannot nest deeply, and counting them is much faster than skipping strings.
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

/// Returns what follows the string that was opened before `rest`.
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
                response: Ok(RpcResponse::Result(result)),
            }) => format!("result {id} {result}"),
            Ok(Message::Response {
                id,
                response: Ok(RpcResponse::TooDeep(_)),
            }) => format!("deep {id}"),
            Ok(Message::Response {
                id,
                response: Ok(RpcResponse::Error(error)),
            }) => format!("error {id} {}", error.code),
            Ok(Message::Response {
                id,
                response: Err(why),
            }) => format!("bad {id} {why}"),
            Ok(Message::UnaddressedError(error)) => format!("complaint {}", error.code),
            Ok(Message::Request(Request { id, method, .. })) => {
                format!("request {id} {method}")
            }
            Ok(Message::Notification { method, .. }) => format!("note {method}"),
            Err(error) => format!("{error:?}"),
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
            "bad 1 has a duplicate key",
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
            "bad 1 contains a NUL byte",
        );
        check("\0\0", "NotJson");
        check(
            r#"{"jsonrpc":"2.0","id":1,"Result":1}"#,
            "bad 1 has neither a result nor an error",
        );
        check(r#"{"jsonrpc":"2.0","id":-1,"result":1}"#, "NotRpc");
        check(
            r#"{"id":1,"result":1}"#,
            "bad 1 lacks `\"jsonrpc\":\"2.0\"`",
        );
        check("Server running on stdio", "NotJson");
        check("{broken", "NotJson");
        check("[]", "NotRpc");
        check("7", "NotRpc");
    }

    #[test]
    fn r_sec_01_deep_nesting_uses_no_stack() {
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
            Ok(Message::Response {
                response: Ok(_),
                ..
            })
        ));
    }

    #[test]
    fn a_batch_has_a_limit() {
        let of = |n: usize| format!("[{}]", vec!["1"; n].join(","));
        assert_eq!(parse_batch(&of(100)).unwrap().len(), 100);
        assert_eq!(parse_batch(&of(101)).unwrap_err(), MessageError::NotRpc);
        assert_eq!(parse_batch("[1").unwrap_err(), MessageError::NotJson);
    }
}
