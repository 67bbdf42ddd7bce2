//! A serialized JSON-RPC response.

use bytes::Bytes;
pub(crate) use pegboard_jsonrpc::code;
use pegboard_model::RpcError;
use serde_json::value::RawValue;

/// Responses up to this size are one buffer. Larger ones keep several parts to avoid copying.
const ONE_PIECE: usize = 32 * 1024;

/// A serialized JSON-RPC response.
#[derive(Clone, Debug)]
pub struct Response {
    /// Consecutive parts of the JSON-RPC message.
    pub parts: Vec<Bytes>,
    /// The HTTP status: 200, or 400 or 404 where the modern revision requires it.
    pub status: u16,
}

impl Response {
    /// The length of the message in bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether the message is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the message as one buffer. Copies if it has several parts.
    pub fn into_bytes(self) -> Bytes {
        match <[Bytes; 1]>::try_from(self.parts) {
            Ok([one]) => one,
            Err(parts) => parts.concat().into(),
        }
    }

    /// Creates a response with a result, given as JSON text.
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

    /// Creates a batch of several responses.
    pub(crate) fn batch(responses: impl IntoIterator<Item = Vec<Bytes>>) -> Self {
        let mut parts = Vec::new();
        for (at, response) in responses.into_iter().enumerate() {
            parts.push(Bytes::from_static(if at == 0 { b"[" } else { b"," }));
            parts.extend(response);
        }
        parts.push(Bytes::from_static(b"]"));
        Self { parts, status: 200 }
    }

    /// Creates an error response. `id` is `None` if the id of the message could not be read.
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

/// Creates a JSON-RPC error without data.
pub(crate) fn rpc(code: i64, message: impl Into<String>) -> RpcError {
    RpcError {
        code,
        message: message.into(),
        data: None,
    }
}
