//! The HTTP face: Streamable HTTP of both protocol eras at `/mcp` and `/mcp/{profile}`.
//!
//! Invariant: no route, and no 404 either, is reached past the checks of [`Site`].
//! Invariant: a modern request ends with its connection; a legacy one goes on, and its answer is kept.

mod abandoned;
mod access;
mod body;
mod call;
mod connections;
mod event;
mod guarded;
mod headers;
mod legacy;
mod metrics;
mod mirrored;
mod modern;
mod origin;
mod patience;
mod pieces;
mod post;
mod refusal;
mod replay;
mod serve;
mod session;
mod site;
mod stream;
mod token;
mod visitor;

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

pub use access::{Access, OpenToOthers};
pub use body::{Unread, read_body};
pub use metrics::metrics_route;
pub use refusal::plain_error;
pub use serve::serve;
pub use site::Site;
pub use token::{
    ADMIN_TOKEN_FILE, ServedToken, TOKEN_FILE, admin_token, rotate_admin_token, rotate_token,
    served_admin_token, served_token, stored_admin_token, stored_token, token,
};
pub use visitor::{Login, PAGE_KEY_HEADER, Role, Visitor, Visitors};

/// Where a client that shows no token still gets an answer, because it holds nothing.
pub(crate) const HEALTH_PATH: &str = "/healthz";

/// Where clients of the protocol connect: they show a token, never a cookie.
const PROTOCOL_PATH: &str = "/mcp";

/// What the handlers share.
#[derive(Clone)]
struct Face {
    gateway: Gateway,
    limits: Arc<Limits>,
    replay: Arc<replay::Replay>,
    patience: Arc<patience::Patience>,
    abandoned: Arc<abandoned::Abandoned>,
    /// Room for large messages.
    bodies: ByteBudget,
}

impl Face {
    fn new(gateway: Gateway, limits: Limits) -> Self {
        let limits = Arc::new(limits);
        Self {
            gateway,
            bodies: ByteBudget::new(limits.request_bytes_in_flight, limits.request_bytes),
            replay: Arc::new(replay::Replay::new(limits.clone())),
            abandoned: Arc::new(abandoned::Abandoned::new(limits.clone())),
            limits,
            patience: Arc::default(),
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
