//! JSON-RPC messages.

use serde_json::{Value, json};

pub(crate) use pegboard_jsonrpc::code::*;

/// A JSON-RPC error without an id.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(crate) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("unknown method `{method}`"))
    }
}

/// The response to a request.
pub(crate) fn response(id: &Value, response: Result<Value, RpcError>) -> Value {
    match response {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(rpc_error) => {
            let mut error = json!({"code": rpc_error.code, "message": rpc_error.message});
            if let Some(data) = rpc_error.data {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

pub(crate) fn notification(method: &str, params: Option<Value>) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if let Some(params) = params {
        message["params"] = params;
    }
    message
}

/// The server info.
pub(crate) fn identity() -> Value {
    json!({"name": "pegboard-conformance-server", "version": env!("CARGO_PKG_VERSION")})
}

/// The capabilities, which are the same in both eras.
pub(crate) fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "completions": {},
        "logging": {},
    })
}

pub(crate) const INSTRUCTIONS: &str =
    "Fixtures of the MCP conformance suite; every tool does what its name says.";
