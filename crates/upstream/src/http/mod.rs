//! HTTP servers: Streamable HTTP, and the old HTTP+SSE transport (`old_sse`).
//!
//! Invariant: every request leaves through `client::send`; redirects are never followed automatically.
//! Invariant: no body is read beyond its limit, and nothing is decompressed.

mod api_endpoint;
mod body;
pub(crate) mod client;
mod events;
mod exchange;
mod headers;
mod http1_connection;
mod listen;
mod loopback_pool;
mod old_sse;
pub(crate) mod response;
mod retry_after;
mod session;
mod sse;
mod target;
mod upstream;

pub use api_endpoint::{ApiEndpoint, ApiResponse, ApiResponseLimits};
pub(crate) use upstream::HttpOpening;
