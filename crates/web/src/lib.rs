//! The catalog as an HTTP API with its OpenAPI description, and the dashboard on top of it.
//!
//! Invariant: reading starts no server, connects to none and waits for none: what is read comes from snapshots.
//! Invariant: whatever changes the configuration, the policies, consents, or what gets started, takes [`Admin`].
//! Invariant: every error has one shape, with a code of the one table and the next step.
//! Invariant: no file is known here; what lies in files is asked from the [`ConfigAdmin`].
//! Invariant: nothing is served without the checks of a [`pegboard_gateway::http::Site`].

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

// The rooms of the house.
mod api;
#[cfg_attr(not(feature = "dashboard"), path = "no_dashboard.rs")]
mod dashboard;
mod login_routes;

// Who asks, what they send, and what they get back.
mod error;
mod extract;
mod logins;
mod response;
mod role;
mod security_headers;
mod session;

// What everything works on.
mod config_admin;
mod state;

pub use api::openapi;
pub use config_admin::{
    ConfigAdmin, DEFAULT_PROJECT, NewServer, NewTransport, Project, ProjectView, TrustReview,
};
pub use logins::{LOGIN_CODE_LIFETIME, LoginStore, Logins, StoredLogin};
pub use role::{Admin, Authorized};
pub use state::{WebParts, WebState};

use axum::Router;

/// Every route of API and dashboard. They must not be served without the checks of a
/// [`pegboard_gateway::http::Site`], whose access knows the [`Logins`] of the same state.
pub fn routes(state: WebState) -> Router {
    Router::new()
        .merge(api::routes(state.clone()))
        .merge(login_routes::routes(state.clone()))
        .merge(dashboard::assets())
        .merge(dashboard::routes(state))
        .layer(axum::middleware::map_response(
            security_headers::add_security_headers,
        ))
}
