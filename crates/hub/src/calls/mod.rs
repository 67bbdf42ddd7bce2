//! Calls and forwarded requests: from the resolved tool to the server's response.

mod call;
mod client_requests;
mod dispatch;
mod forward;
mod panics;
mod request;
mod result_check;
mod schema_checks;
mod static_tools;

pub(crate) use self::forward::COMPLETE;
pub use self::forward::{ForwardRequest, OfferRef};
pub use self::request::{CallRequest, SessionId, ToolTarget};
pub(crate) use self::schema_checks::SchemaChecks;
pub use self::static_tools::ToolHandler;
