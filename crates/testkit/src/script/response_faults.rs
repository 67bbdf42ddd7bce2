//! Faults of a server's output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Moment;

/// Unsolicited output on stdout, written before the response of its moment (or at the start). Ignored
/// over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The moment.
    pub when: Moment,
    /// The kind of output.
    pub kind: NoiseKind,
    /// The number of repetitions.
    pub times: u32,
}

/// Kinds of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseKind {
    /// A line of text, such as a banner.
    Text,
    /// A line that is not UTF-8, with a NUL and an escape sequence.
    Binary,
    /// A line with the first half of a message.
    PartialJson,
    /// An empty line.
    Blank,
    /// A line of JSON that is not a message.
    OtherJson,
    /// A response with an unknown id.
    UnknownResponse,
    /// This number of bytes without a line break.
    Flood(u64),
    /// A line of this many nested arrays.
    Deep(u32),
    /// Lines of random bytes from this seed, half of them similar to a message.
    Random(u64),
}

/// A wrong shape of the responses at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseFault {
    /// The moment.
    pub when: Moment,
    /// The shape.
    pub shape: ResponseShape,
}

/// Wrong shapes of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseShape {
    /// A JSON-RPC error with this code.
    Error(i64),
    /// The id of another request.
    WrongId,
    /// The response twice.
    Twice,
    /// The id as a string instead of a number.
    TextId,
    /// Both `result` and `error`.
    Both,
    /// Neither `result` nor `error`.
    Neither,
    /// This value as the result.
    Result(Value),
    /// A result with this many nested arrays.
    Deep(u32),
    /// A line of exactly this many bytes including the line break, padded inside the result.
    Bytes(usize),
    /// The line ends with carriage return and line feed.
    CrLf,
    /// A duplicate key `result`.
    DuplicateKey,
    /// `jsonrpc` is missing.
    NoVersion,
    /// The response as the only element of an array.
    Batch,
    /// The line is not UTF-8.
    NotUtf8,
}

/// The behaviour of calls. By default a call returns the text `{"tool": NAME, "arguments": ARGUMENTS}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallScript {
    /// The duration of each call; calls run concurrently.
    pub delay_ms: u64,
    /// The result reports a failure of the tool.
    pub is_error: bool,
    /// The result has `structuredContent`.
    pub structured: Option<Value>,
    /// The result has an image in addition to the text.
    pub image: bool,
    /// The result has fields that no revision defines.
    pub extra_fields: bool,
    /// The size of the text in the result.
    pub result_bytes: Option<usize>,
    /// Number of calls that are collected and then answered in reverse order.
    pub reverse: usize,
    /// Requests to the client, such as `ping`, that are sent before the response. The response reports the
    /// client's replies as `METHOD -> result` or `METHOD -> error CODE`. Stdio only.
    pub client_requests: Vec<String>,
    /// Each call attempts what its arguments say: see the hostile server's `attack` module.
    pub attacks: bool,
    /// The text of the result contains the request's `_meta` too.
    pub echoes_meta: bool,
    /// Number of progress notifications before the response, if the client sent a progress token.
    pub progress: u32,
    /// Progress notifications contain the call's arguments as their message, and a log message with the arguments
    /// precedes the response. Stdio only.
    pub echoes_in_messages: bool,
}
