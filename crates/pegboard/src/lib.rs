//! Every tool of every MCP server, known without starting any.
//!
//! [`Pegboard::open`] reads the configuration and the catalog that lasts; nothing is started. The
//! [`Hub`] answers what tools there are, asks servers for their tools, and calls a tool by starting
//! exactly its server.

pub mod cli;
pub mod example_server;
mod gateway;
#[cfg_attr(not(feature = "meaning"), path = "no_meaning.rs")]
pub(crate) mod meaning;
mod metrics;
mod observed;
mod open;
mod web;

pub use gateway::profiles;
pub use open::{Configured, Options, Pegboard};

pub use pegboard_catalog::{Catalog, Delta, ToolView};
pub use pegboard_gateway::{Gateway, http, stdio};
pub use pegboard_hub::{CallOutcome, CallRequest, Hub, SessionId};
pub use pegboard_model::{ErrorClass, Reason, ToolError, ToolResult};
