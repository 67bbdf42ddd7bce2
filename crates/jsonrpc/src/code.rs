//! Error codes of JSON-RPC and MCP.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is not a valid JSON-RPC request.
pub const INVALID_REQUEST: i64 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are invalid.
pub const INVALID_PARAMS: i64 = -32602;
/// The receiver failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// Legacy HTTP: the session does not exist.
pub const SESSION_NOT_FOUND: i64 = -32001;
/// Legacy: the resource does not exist. Modern revisions use [`INVALID_PARAMS`].
pub const LEGACY_RESOURCE_NOT_FOUND: i64 = -32002;
/// Modern HTTP: the headers contradict the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// Modern: the client did not declare a capability that the request needs.
pub const MISSING_CAPABILITY: i64 = -32021;
/// Modern: the server does not support the revision of the request.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// Legacy: the user must open URLs first; `data` holds the elicitations.
pub const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Returns whether only modern servers use this code.
pub fn is_modern(code: i64) -> bool {
    (UNSUPPORTED_VERSION..=HEADER_MISMATCH).contains(&code)
}
