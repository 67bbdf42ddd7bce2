//! Pegboard as an MCP server: stdio and Streamable HTTP, both protocol eras, the meta tools.
//!
//! Invariant: listing, searching and describing start no server and wait for none.
//! Invariant: what is listed depends on the profile alone, never on what a conversation did before.
//! Invariant: a server's result reaches the client as the bytes the server wrote.
//! Invariant: whatever a client can fill has a limit, and nothing it sends makes us panic.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

// The faces.
pub mod http;
pub mod stdio;

// What faces use.
mod conversation;
mod gateway;
mod message;
mod profile;
mod response;

// From a request to its answer.
mod batch;
mod caller;
mod calling;
mod client_registry;
mod client_requests;
mod dispatch;
mod input_rounds;
mod listen;
mod notification_limiter;
mod offers;
mod parked;
mod spans;

// What is listed, and the meta tools.
mod legacy_result;
mod meta_run;
mod offload;
mod surface;
mod view;

// What lasts longer than a request.
mod level;
mod seal;
mod session_listener;
mod sessions;
mod subscribers;

// What the agent's loop shares with us.
use pegboard_catalog::meta as meta_tools;
use pegboard_shelf::{self as result_store, members};

pub use conversation::{Conversation, MessageSink};
pub use gateway::{Gateway, GatewaySettings, ProfileCatalog, fixed_surface};
pub use message::{Message, MessageKind};
pub use profile::{Mode, Profile};
pub use response::Response;
