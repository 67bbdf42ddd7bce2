//! The HTTP face: Streamable HTTP of both protocol eras at `/mcp` and `/mcp/{profile}`.
//!
//! Invariant: no route, and no 404 either, is reached past [`guard`].
//! Invariant: a modern request ends with its connection; a legacy one goes on, and its answer is kept.

mod access;
mod body;
mod call;
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
mod stream;
mod token;
mod visitor;

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use pegboard_model::Limits;

use crate::gateway::Gateway;

pub use axum::Router;

pub use access::{Access, OpenToOthers};
pub use body::{Unread, read_body};
pub use metrics::metrics_route;
pub use refusal::plain_error;
pub use serve::{serve, serve_within};
pub use token::{
    ADMIN_TOKEN_FILE, TOKEN_FILE, admin_token, rotate_admin_token, rotate_token, token,
};
pub use visitor::{CSRF_HEADER, Login, Role, Visitor, Visitors};

/// Where a client that shows no token still gets an answer, because it holds nothing.
pub(crate) const HEALTH_PATH: &str = "/healthz";

/// What the handlers share.
#[derive(Clone)]
struct Face {
    gateway: Gateway,
    limits: Arc<Limits>,
    replay: Arc<replay::Replay>,
    patience: Arc<patience::Patience>,
}

/// The gateway's routes behind the guard, complete for [`serve`].
pub fn router(gateway: Gateway, access: Access) -> Router {
    guard(routes(gateway, access.limits().clone()), access)
}

/// The gateway's routes alone, to be merged with others. They must not be served without [`guard`].
pub fn routes(gateway: Gateway, limits: Limits) -> Router {
    let limits = Arc::new(limits);
    let replay = Arc::new(replay::Replay::new(limits.clone()));
    let face = Face {
        gateway,
        limits,
        replay,
        patience: Arc::default(),
    };
    let mcp = || {
        post(post::post)
            .get(session::get)
            .delete(session::delete)
            .fallback(session::other_method)
    };
    Router::new()
        .route("/mcp", mcp())
        .route("/mcp/", mcp())
        .route("/mcp/{profile}", mcp())
        .route(HEALTH_PATH, get(health))
        .with_state(face)
}

/// Puts the checks of Host, Origin and token before everything the router answers.
pub fn guard(router: Router, access: Access) -> Router {
    let router = router.fallback(refusal::no_such_path);
    router.layer(guarded::Guard::new(access))
}

async fn health() -> impl IntoResponse {
    let version = env!("CARGO_PKG_VERSION");
    let body = format!(r#"{{"status":"ok","version":"{version}"}}"#);
    ([(CONTENT_TYPE, "application/json")], body)
}
