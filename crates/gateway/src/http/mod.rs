//! The HTTP face: Streamable HTTP of both protocol eras at `/mcp` and `/mcp/{profile}`.
//!
//! Invariant: no route, and no 404 either, is reached past the checks of [`Site`].
//! Invariant: a modern request ends with its connection; a legacy one goes on, and its answer is kept.

mod abandoned;
mod access;
mod body;
mod connections;
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
mod post;
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

use axum::body::HttpBody;
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;
use pegboard_model::Limits;
use pegboard_upstream::ByteBudget;

use crate::gateway::Gateway;

pub use axum::Router;

pub use access::{Access, UnprotectedAddress};
pub use body::{BodyError, read_body};
pub use metrics::metrics_route;
pub use principal::{Login, LoginProvider, PAGE_KEY_HEADER, Principal, Role};
pub use refusal::plain_error;
pub use serve::serve;
pub use site::Site;
pub use token::{
    ADMIN_TOKEN_FILE, ServedToken, TOKEN_FILE, admin_token, rotate_admin_token, rotate_token,
    served_admin_token, served_token, stored_admin_token, stored_token, token,
};

/// Where a client that shows no token still gets an answer, because it holds nothing.
pub(crate) const HEALTH_PATH: &str = "/healthz";

/// Where clients of the protocol connect: they show a token, never a cookie.
const PROTOCOL_PATH: &str = "/mcp";

/// What the handlers share.
#[derive(Clone)]
struct HttpState {
    gateway: Gateway,
    limits: Arc<Limits>,
    replay: Arc<replay::ReplayStore>,
    response_timer: Arc<response_timer::ResponseTimer>,
    abandoned: Arc<abandoned::AbandonedRequests>,
    /// Room for large messages.
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

    /// Answers what was sent to a path of the protocol.
    async fn answer(&self, head: Parts, body: impl HttpBody<Data = Bytes> + Unpin) -> Response {
        let answer = match head.method {
            Method::POST => post::take(self, &head, body).await,
            Method::GET => session::open(self, head.uri.path(), &head.headers),
            Method::DELETE => session::end(self, head.uri.path(), &head.headers),
            _ => Err(session::only_post()),
        };
        match answer {
            Ok(response) | Err(response) => response,
        }
    }
}
