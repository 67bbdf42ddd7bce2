//! The Streamable HTTP transport of both protocol eras, at `/mcp` and `/mcp/{profile}`.
//!
//! Invariant: every request passes the checks of [`Site`] before any response, including 404.
//! Invariant: a modern request ends with its connection; a legacy one continues, and its response is kept.

mod abandoned;
mod access;
mod body;
mod connections;
mod endpoint;
mod event;
mod event_stream;
mod headers;
mod legacy;
mod metrics;
mod mirrored;
mod modern;
mod origin;
mod parts_body;
mod pending;
mod principal;
mod refusal;
mod replay;
mod request_check;
mod response_timer;
mod serve;
mod session;
mod site;
mod token;

use std::sync::Arc;

use pegboard_model::Limits;
use pegboard_upstream::ByteBudget;

use crate::gateway::Gateway;

pub use axum::Router;

pub use access::{Access, UnprotectedAddress};
pub use body::{BodyError, read_body};
pub use metrics::metrics_route;
pub use principal::{Login, LoginProvider, PAGE_KEY_HEADER, Principal, Role};
pub use serve::serve;
pub use site::Site;
pub use token::{
    ADMIN_TOKEN_FILE, ServedToken, TOKEN_FILE, admin_token, rotate_admin_token, rotate_token,
    served_admin_token, served_token, stored_admin_token, stored_token, token,
};

/// Served without a token, because it reveals nothing.
pub(crate) const HEALTH_PATH: &str = "/healthz";

/// The path of the MCP endpoint. Its clients authenticate with a token, never with a cookie.
const PROTOCOL_PATH: &str = "/mcp";

/// State shared by the handlers of the MCP endpoint.
#[derive(Clone)]
struct HttpState {
    gateway: Gateway,
    limits: Arc<Limits>,
    replay: Arc<replay::ReplayStore>,
    response_timer: Arc<response_timer::ResponseTimer>,
    abandoned: Arc<abandoned::AbandonedRequests>,
    /// Memory budget for large messages.
    bodies: ByteBudget,
}

impl HttpState {
    fn new(gateway: Gateway, limits: Limits) -> Self {
        let limits = Arc::new(limits);
        Self {
            gateway,
            bodies: ByteBudget::new(limits.request_bytes_in_flight, limits.request_bytes),
            replay: Arc::new(replay::ReplayStore::new(limits.clone())),
            abandoned: Arc::new(abandoned::AbandonedRequests::new(limits.clone())),
            limits,
            response_timer: Arc::default(),
        }
    }
}
