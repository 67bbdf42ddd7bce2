//! A server that is reached by Streamable HTTP.
//!
//! Invariant: every request leaves through `open::send`; redirects are never followed by themselves.
//! Invariant: no body is read beyond its limit, and nothing is ever decompressed.

mod body;
mod events;
mod exchange;
mod head;
mod line;
mod listen;
mod near;
pub(crate) mod open;
mod patience;
mod response;
mod service;
mod session;
mod sse;
mod target;
mod upstream;

pub use service::{Reply, ReplyLimits, Service};
pub(crate) use upstream::HttpOpening;
