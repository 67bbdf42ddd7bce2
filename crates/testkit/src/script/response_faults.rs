//! What is wrong with what a server writes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Moment;

/// Something on stdout that nobody asked for, written before the answer of its moment (or at the
/// start). Over HTTP there is no stdout, and nothing is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// When.
    pub when: Moment,
    /// What.
    pub kind: NoiseKind,
    /// How often.
    pub times: u32,
}

/// Kinds of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseKind {
    /// A line of text, as a banner is.
    Text,
    /// A line of bytes that are not UTF-8, with a NUL and an escape sequence among them.
    Binary,
    /// A line with the first half of a message.
    PartialJson,
    /// An empty line.
    Blank,
    /// A line that is JSON, but no message.
    OtherJson,
    /// A message with another program's id and a result.
    UnknownResponse,
    /// So many bytes without a line break, as one line without end.
    Flood(u64),
    /// A line of so many nested arrays.
    Deep(u32),
    /// Lines of random bytes from this seed, half of them with the looks of a message.
    Random(u64),
}

/// A wrong shape of the answers of one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseFault {
    /// Which answers.
    pub when: Moment,
    /// What is wrong.
    pub shape: ResponseShape,
}

/// Wrong shapes of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseShape {
    /// A JSON-RPC error of this code.
    Error(i64),
    /// The id of another request, and nothing for the right one.
    WrongId,
    /// The answer twice.
    Twice,
    /// The id as a text in place of a number.
    TextId,
    /// Both `result` and `error`.
    Both,
    /// Neither `result` nor `error`.
    Neither,
    /// This in place of the result.
    Result(Value),
    /// The result holds so many nested arrays.
    Deep(u32),
    /// The line (with the line break) has exactly so many bytes, filled up inside the result.
    Bytes(usize),
    /// The line ends with carriage return and line feed.
    CrLf,
    /// `result` stands twice in the object.
    DuplicateKey,
    /// `jsonrpc` is missing.
    NoVersion,
    /// The answer is the only element of an array.
    Batch,
    /// The line is not UTF-8.
    NotUtf8,
}

/// What calls do. By default a call answers a text that is the JSON of
/// `{"tool": NAME, "arguments": ARGUMENTS}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallScript {
    /// How long each call takes; calls run side by side.
    pub delay_ms: u64,
    /// The result says that the tool failed.
    pub is_error: bool,
    /// The result has `structuredContent`.
    pub structured: Option<Value>,
    /// The result has an image beside the text.
    pub image: bool,
    /// The result has fields that no revision knows.
    pub extra_fields: bool,
    /// The text of the result has so many bytes.
    pub result_bytes: Option<usize>,
    /// So many calls are collected and then answered in the reverse order.
    pub reverse: usize,
    /// Requests to the client that are sent before the answer, as `ping`; the answer waits for the
    /// client's replies and tells them as `METHOD -> result` or `METHOD -> error CODE`. Stdio only.
    pub client_requests: Vec<String>,
    /// The text of the result tells the request's `_meta`, too.
    pub echoes_meta: bool,
    /// So many progress notifications before the answer, when the client gave a progress token.
    pub progress: u32,
}
