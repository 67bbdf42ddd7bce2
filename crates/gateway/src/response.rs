//! An answer, ready to be sent.

use bytes::Bytes;
use pegboard_model::RpcError;
use serde_json::value::RawValue;

/// Answers up to this size are one piece; larger ones are not copied together.
const ONE_PIECE: usize = 32 * 1024;

/// JSON-RPC codes that we use.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL: i64 = -32603;
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
    /// What revisions before 2026-07-28 use for a resource that is not there.
    pub(crate) const LEGACY_RESOURCE_NOT_FOUND: i64 = -32002;
}

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub struct Response {
    /// The whole JSON-RPC message, in pieces that follow each other.
    pub parts: Vec<Bytes>,
    /// The status for a face that speaks HTTP: 200, or what the modern revision asks for (400, 404).
    pub status: u16,
}

impl Response {
    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole message in one piece; large ones are copied.
    pub fn into_bytes(self) -> Bytes {
        match <[Bytes; 1]>::try_from(self.parts) {
            Ok([one]) => one,
            Err(parts) => parts.concat().into(),
        }
    }

    /// A result, given as JSON text that is shared or handed over.
    pub(crate) fn result(id: &RawValue, result: impl Into<Bytes>) -> Self {
        let result = result.into();
        let head = format!(r#"{{"jsonrpc":"2.0","id":{},"result":"#, id.get());
        let parts = if result.len() <= ONE_PIECE {
            let mut whole = head.into_bytes();
            whole.reserve_exact(result.len() + 1);
            whole.extend_from_slice(&result);
            whole.push(b'}');
            vec![whole.into()]
        } else {
            vec![head.into(), result, Bytes::from_static(b"}")]
        };
        Self { parts, status: 200 }
    }

    /// Several responses as one message.
    pub(crate) fn batch(answers: impl IntoIterator<Item = Vec<Bytes>>) -> Self {
        let mut parts = Vec::new();
        for (at, answer) in answers.into_iter().enumerate() {
            parts.push(Bytes::from_static(if at == 0 { b"[" } else { b"," }));
            parts.extend(answer);
        }
        parts.push(Bytes::from_static(b"]"));
        Self { parts, status: 200 }
    }

    /// An error; without an id it is about a message whose id could not be read.
    pub(crate) fn error(id: Option<&RawValue>, status: u16, error: &RpcError) -> Self {
        let id = id.map_or("null", RawValue::get);
        let message = serde_json::to_string(&error.message).unwrap_or_else(|_| "\"\"".to_owned());
        let data = error.data.as_deref();
        let data = data
            .map(|data| format!(r#","data":{data}"#))
            .unwrap_or_default();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{},"message":{message}{data}}}}}"#,
            error.code
        );
        Self {
            parts: vec![text.into()],
            status,
        }
    }
}

/// A JSON-RPC error of our own.
pub(crate) fn rpc(code: i64, message: impl Into<String>) -> RpcError {
    RpcError {
        code,
        message: message.into(),
        data: None,
    }
}
