//! Pegboard as an MCP server: stdio and Streamable HTTP, both protocol eras, the meta tools.
//!
//! Invariant: listing, searching and describing tools never start or wait for a server that is already known.
//! Invariant: the listed tools depend on the profile only, never on earlier requests of the session.
//! Invariant: a server's result is forwarded byte for byte, unless it is too large or not in the client's revision.
//! Invariant: every buffer that a client can fill has a limit, and no client input causes a panic.

// Transports.
pub mod http;
pub mod stdio;

// API used by the transports.
mod conversation;
mod gateway;
mod message;
mod profile;
mod response;

// Request handling.
mod adapt_result;
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
mod request_state;
mod spans;

// Lists and meta tools.
mod meta_run;
mod offload;
mod surface;
mod view;

// State that outlives a request.
mod level;
mod seal;
mod session_listener;
mod sessions;
mod subscribers;

// Shared with the agent loop.
use pegboard_metatools as meta_tools;

pub use conversation::{Conversation, MessageSink};
pub use gateway::{Gateway, GatewaySettings, ProfileCatalog, fixed_surface};
pub use message::{Message, MessageKind};
pub use profile::{Mode, Profile};
pub use response::Response;
