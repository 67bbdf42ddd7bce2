//! JSON-RPC as MCP uses it: the envelope, error codes, protocol revisions, and serialization.
//!
//! Invariant: no async, no I/O, no clock.
//! Invariant: payloads stay raw JSON text; only the envelope is parsed.
//! Invariant: no input causes a panic or deep recursion.

mod envelope;
mod raw;
mod surrogates;
mod write;

pub mod code;
pub mod meta;
pub mod revision;

pub use envelope::{BATCH_LIMIT, Message, MessageError, Request, RpcResponse, TOO_DEEP};
pub use envelope::{parse, parse_batch};
pub use pegboard_model::RpcError;
pub use raw::{capped_array, present, string};
pub use surrogates::{paired, repaired, replace_lone};
pub use write::{cancelled, error_response, notification, request, result_response};
pub use write::{push_quoted, push_single_line, quoted};
