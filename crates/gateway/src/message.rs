//! A client's message: the JSON-RPC envelope and the few fields that the gateway reads.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use pegboard_catalog::ResolvedTool;
use pegboard_jsonrpc::{meta, present};
use pegboard_model::RpcError;
use self_cell::self_cell;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::response::{Response, code, rpc};

/// Maximum length of an id, which is repeated in the response.
const ID_BYTES: usize = 1024;
/// Maximum length of a method name.
const METHOD_BYTES: usize = 128;

/// The kind of a JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Has a method and an id, and needs a response.
    Request,
    /// Has a method but no id.
    Notification,
    /// Responds to a request that we sent.
    Response,
}

/// A message that is parsed once: the envelope, and the members of `params` and `_meta` that the gateway reads. All other
/// values stay raw.
pub struct Message {
    parsed: ParsedText,
    /// The tool of a call, if its name is resolved before the request is dispatched.
    tool: OnceLock<ResolvedTool>,
}

self_cell! {
    /// The text of a message together with what was parsed from it.
    struct ParsedText {
        owner: Bytes,
        #[covariant]
        dependent: Parsed,
    }
}

struct Parsed<'a> {
    kind: MessageKind,
    method: Cow<'a, str>,
    id: Option<&'a RawValue>,
    /// `params` of a request or notification, `result` or `error` of a response.
    payload: Option<&'a RawValue>,
    is_error: bool,
    /// Of a request; empty for other messages.
    params: Params<'a>,
    meta: Meta<'a>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "text")]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// The members of `params` that the gateway reads. All others are forwarded unread.
#[derive(Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    pub(crate) name: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    pub(crate) uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<Meta<'a>>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(crate) responses: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState", deserialize_with = "text")]
    pub(crate) state: Option<Cow<'a, str>>,
}

/// The `_meta` of a request.
#[derive(Default)]
pub(crate) struct Meta<'a> {
    pub(crate) version: Option<Cow<'a, str>>,
    pub(crate) capabilities: Option<&'a RawValue>,
    pub(crate) level: Option<Cow<'a, str>>,
    pub(crate) progress: Option<&'a RawValue>,
    pub(crate) client: Option<&'a RawValue>,
    /// The members to forward: all except the protocol's own, which are between two peers, and `baggage`, which may
    /// contain anything.
    pub(crate) forwarded: Map<String, Value>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Meta<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`_meta` as an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta<'de>, A::Error> {
                let mut found = Meta::default();
                while let Some(Text(key)) = map.next_key()? {
                    match &*key {
                        meta::PROTOCOL_VERSION => set(&mut found.version, text_value(&mut map)?)?,
                        meta::LOG_LEVEL => set(&mut found.level, text_value(&mut map)?)?,
                        meta::CLIENT_CAPABILITIES => {
                            set(&mut found.capabilities, map.next_value()?)?
                        }
                        meta::CLIENT_INFO => set(&mut found.client, map.next_value()?)?,
                        meta::PROGRESS_TOKEN => set(&mut found.progress, map.next_value()?)?,
                        _ => {
                            let value: &RawValue = map.next_value()?;
                            let is_ours = key.starts_with(meta::PREFIX) || key == "baggage";
                            if !is_ours && let Ok(value) = serde_json::from_str(value.get()) {
                                found.forwarded.insert(key.into_owned(), value);
                            }
                        }
                    }
                }
                Ok(found)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Sets a member, which must not be repeated.
fn set<T, E: serde::de::Error>(member: &mut Option<T>, value: Option<T>) -> Result<(), E> {
    match std::mem::replace(member, value) {
        Some(_) => Err(E::custom("a member of `_meta` is repeated")),
        None => Ok(()),
    }
}

fn text_value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
    let text: Option<Text<'de>> = map.next_value()?;
    Ok(text.map(|text| text.0))
}

/// A string, borrowed if it contains no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Deserializes an optional string by borrowing. Serde would copy an `Option<Cow<str>>`.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'de, str>>, D::Error> {
    let text = Option::<Text<'de>>::deserialize(deserializer)?;
    Ok(text.map(|text| text.0))
}

impl Message {
    /// Parses a message.
    ///
    /// # Errors
    /// Returns an error response, ready to be sent, if the text is not a valid JSON-RPC message.
    pub fn parse(text: Bytes) -> Result<Self, Response> {
        let parsed = ParsedText::try_new(text, |text| Parsed::parse(text))?;
        let tool = OnceLock::new();
        Ok(Self { parsed, tool })
    }

    fn parsed(&self) -> &Parsed<'_> {
        self.parsed.borrow_dependent()
    }

    /// The kind of the message.
    pub fn kind(&self) -> MessageKind {
        self.parsed().kind
    }

    /// The method. Empty for a response.
    pub fn method(&self) -> &str {
        &self.parsed().method
    }

    /// The protocol revision in the `_meta` of a modern request.
    pub fn protocol_version(&self) -> Option<&str> {
        self.meta().version.as_deref()
    }

    /// `params.uri` of a `resources/*` request, else `params.name`. Modern HTTP headers repeat it.
    pub fn subject(&self) -> Option<&str> {
        // A request may contain both. Use the one that its handler reads, never the other.
        match self.method().starts_with("resources/") {
            true => self.params().uri.as_deref(),
            false => self.params().name.as_deref(),
        }
    }

    /// The resolved tool of a call, if [`Message::set_tool`] was called.
    pub(crate) fn tool(&self) -> Option<&ResolvedTool> {
        self.tool.get()
    }

    /// Keeps the resolved tool of a call, so that its name is resolved once.
    pub(crate) fn set_tool(&self, tool: ResolvedTool) {
        // A message names one tool, so a second value would be the same.
        let _ = self.tool.set(tool);
    }

    /// The id, byte for byte as the client sent it.
    pub fn id(&self) -> Option<&RawValue> {
        self.parsed().id
    }

    /// Creates an error response to this message.
    pub fn refuse(&self, status: u16, code: i64, why: &str) -> Response {
        Response::error(self.id(), status, &rpc(code, why))
    }

    /// The raw `params`, `result` or `error`. An empty object if there are none.
    pub(crate) fn payload(&self) -> &str {
        self.parsed().payload.map_or("{}", RawValue::get)
    }

    /// The `params` of a request.
    pub(crate) fn params(&self) -> &Params<'_> {
        &self.parsed().params
    }

    /// The `_meta` of a request.
    pub(crate) fn meta(&self) -> &Meta<'_> {
        &self.parsed().meta
    }

    /// The outcome of a response.
    pub(crate) fn outcome(&self) -> Result<Box<RawValue>, RpcError> {
        let payload = self.parsed().payload;
        if !self.parsed().is_error {
            let result = payload.map(RawValue::to_owned);
            return result.ok_or_else(|| rpc(code::INTERNAL_ERROR, "the response has no result"));
        }
        #[derive(Deserialize)]
        struct Wire<'a> {
            code: i64,
            #[serde(default)]
            message: String,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
        }
        match serde_json::from_str::<Wire<'_>>(self.payload()) {
            Ok(wire) => Err(RpcError {
                code: wire.code,
                message: wire.message,
                data: wire.data.map(|data| data.get().to_owned()),
            }),
            Err(_) => Err(rpc(
                code::INTERNAL_ERROR,
                "the client sent a malformed error",
            )),
        }
    }
}

impl<'a> Parsed<'a> {
    fn parse(text: &'a Bytes) -> Result<Self, Response> {
        let whole = std::str::from_utf8(text)
            .map_err(|_| refused(None, code::PARSE_ERROR, "the message is not UTF-8"))?;
        if whole.trim_start().starts_with('[') {
            let why = "not a JSON-RPC message; batches are not supported here";
            return Err(refused(None, code::INVALID_REQUEST, why));
        }
        let envelope: Envelope<'_> =
            serde_json::from_str(whole).map_err(|error| unreadable(whole, &error))?;
        let id = envelope.id;
        let invalid = |why: &str| refused(id.filter(|id| is_id(id)), code::INVALID_REQUEST, why);
        if envelope.jsonrpc.as_deref() != Some("2.0") {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        if id.is_some_and(|id| id.get().len() > ID_BYTES) {
            let why = format!("`id` is longer than {ID_BYTES} bytes; send a shorter one");
            return Err(invalid(&why));
        }
        if id.is_some_and(|id| !is_id(id)) {
            return Err(invalid("`id` must be a string or a number"));
        }
        let kind = match (&envelope.method, id, envelope.result.or(envelope.error)) {
            (Some(_), Some(_), None) => MessageKind::Request,
            (Some(_), None, None) => MessageKind::Notification,
            (None, Some(_), Some(_)) => MessageKind::Response,
            _ => return Err(invalid("not a request, notification or response")),
        };
        let method = envelope.method.unwrap_or_default();
        if method.len() > METHOD_BYTES {
            return Err(invalid("`method` is too long"));
        }
        let payload = envelope.params.or(envelope.result).or(envelope.error);
        if let Some(params) = envelope.params
            && !params.get().starts_with('{')
        {
            let why = "`params` must be an object";
            return Err(refused(id, code::INVALID_PARAMS, why));
        }
        let mut params = Params::default();
        if let (MessageKind::Request, Some(raw)) = (kind, envelope.params) {
            params = serde_json::from_str(raw.get()).map_err(|error| {
                let why = format!("invalid `params`: {error}");
                refused(id, code::INVALID_PARAMS, &why)
            })?;
        }
        Ok(Self {
            kind,
            method,
            id,
            payload,
            is_error: envelope.error.is_some(),
            meta: params.meta.take().unwrap_or_default(),
            params,
        })
    }
}

fn is_id(id: &RawValue) -> bool {
    let text = id.get();
    text.len() <= ID_BYTES
        && text.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

fn refused(id: Option<&RawValue>, code: i64, why: &str) -> Response {
    Response::error(id, 400, &rpc(code, why))
}

/// The error for text that is not a message, or not JSON.
fn unreadable(text: &str, error: &serde_json::Error) -> Response {
    let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
    let code = if is_json {
        code::INVALID_REQUEST
    } else {
        code::PARSE_ERROR
    };
    let kind = if is_json {
        "not a JSON-RPC message"
    } else {
        "not JSON"
    };
    refused(None, code, &format!("{kind}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Message, String> {
        Message::parse(Bytes::copy_from_slice(text.as_bytes()))
            .map_err(|response| String::from_utf8(response.into_bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_three_kinds_are_distinguished() {
        let kind = |text| read(text).unwrap().kind();
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
        assert_eq!(kind(request), MessageKind::Request);
        let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#;
        assert_eq!(kind(note), MessageKind::Notification);
        assert_eq!(
            kind(r#"{"jsonrpc":"2.0","id":1,"result":null}"#),
            MessageKind::Response
        );
    }

    #[test]
    fn the_subject_of_a_request_is_parsed() {
        let text = r#" {"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
            "progressToken":7},"name":"a\u0062","arguments":{"x":1.0}}, "method":"tools/call","id":-5,"jsonrpc":"2.0"}"#;
        let message = read(text).unwrap();
        assert_eq!(message.method(), "tools/call");
        assert_eq!(message.subject(), Some("ab"));
        assert_eq!(message.protocol_version(), Some("2026-07-28"));
        assert_eq!(message.id().unwrap().get(), "-5");
        let arguments = message.params().arguments.unwrap();
        assert_eq!(arguments.get(), r#"{"x":1.0}"#);
        assert_eq!(message.meta().progress.unwrap().get(), "7");
    }

    #[test]
    fn r_gate_01_a_request_is_about_what_it_is_answered_by() {
        let subject = |method: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"n","uri":"u"}}}}"#
            );
            let message = read(&text).unwrap();
            message.subject().map(str::to_owned)
        };
        assert_eq!(subject("tools/call").as_deref(), Some("n"));
        assert_eq!(subject("prompts/get").as_deref(), Some("n"));
        assert_eq!(subject("resources/read").as_deref(), Some("u"));
    }

    #[test]
    fn invalid_messages_get_the_right_code() {
        for (text, code) in [
            ("{", "-32700"),
            ("nonsense", "-32700"),
            ("[]", "-32600"),
            ("7", "-32600"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "-32600"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#,
                "-32600",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#,
                "-32602",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":7}}"#,
                "-32602",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":[]}}"#,
                "-32602",
            ),
        ] {
            let error = read(text).err().unwrap_or_default();
            assert!(error.contains(code), "{text}: {error}");
        }
        let long = "x".repeat(100_000);
        let text = format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#);
        let error = read(&text).err().unwrap();
        assert!(error.contains("`id` is longer than 1024 bytes"), "{error}");
        assert!(error.len() < 300, "the id is not repeated");
        let named = read(r#"{"jsonrpc":"1.0","id":"q","method":"x"}"#)
            .err()
            .unwrap();
        assert!(named.contains(r#""id":"q""#), "{named}");
    }

    #[test]
    fn responses_are_results_or_errors() {
        let good = read(r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#).unwrap();
        assert_eq!(good.outcome().unwrap().get(), r#"{"roots":[]}"#);
        let bad = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1]}}"#);
        let error = bad.unwrap().outcome().unwrap_err();
        assert_eq!((error.code, error.data.as_deref()), (-1, Some("[1]")));
    }
}
