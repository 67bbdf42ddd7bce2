//! A server that is reached by Streamable HTTP.
//!
//! Invariant: every request leaves through `client::send`; redirects are never followed by themselves.
//! Invariant: no body is read beyond its limit, and nothing is ever decompressed.

mod body;
mod events;
mod exchange;
mod headers;
mod http1_connection;
mod listen;
mod loopback_pool;
pub(crate) mod client;
mod retry_after;
mod response;
mod api_endpoint;
mod session;
mod sse;
mod target;
mod upstream;

pub use api_endpoint::{ApiResponse, ApiResponseLimits, ApiEndpoint};
pub(crate) use upstream::HttpOpening;
