//! A server that is reached by Streamable HTTP.
//!
//! Invariant: every request leaves through `open::send`; redirects are never followed by themselves.
//! Invariant: no body is read beyond its limit, and nothing is ever decompressed.

mod body;
mod events;
mod exchange;
mod head;
mod listen;
pub(crate) mod open;
mod patience;
mod session;
mod sse;
mod target;
mod upstream;

pub(crate) use upstream::HttpOpening;
