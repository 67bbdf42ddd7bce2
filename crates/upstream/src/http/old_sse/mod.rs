//! The HTTP+SSE transport of the revision 2024-11-05. A GET opens the only stream of a connection. Its first event,
//! `endpoint`, names the URL for our messages, and everything that the server sends arrives as an event.
//!
//! A connection lives as long as its stream: there is no resuming. When the stream ends, calls in flight fail, and the
//! hub opens a new connection when it needs one, with its usual pauses after failures.
//!
//! Invariant: the endpoint is a secret, because it contains the session. It is never part of a message.
//! Invariant: our messages go to the origin of the configured URL only.
//! Invariant: the legacy era only; `server/discover` is never sent.

mod endpoint;
mod failure;
mod opening;
mod posting;
mod reading;
mod upstream;

pub(crate) use failure::{OpenFailure, explain_gone};
pub(crate) use opening::open;
