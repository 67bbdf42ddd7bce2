//! The HTTP API with its OpenAPI description, and the dashboard.
//!
//! Invariant: reads start no server, connect to none and wait for none; they use snapshots.
//! Invariant: changing the configuration, policies, grants or which servers run requires [`Admin`].
//! Invariant: every error has the same shape, with a code from the table and a next step.
//! Invariant: this crate reads and writes no files; everything in files goes through [`ConfigAdmin`].
//! Invariant: no route is served without the access checks of a [`pegboard_gateway::http::Site`].

// Routes.
mod api;
#[cfg_attr(not(feature = "dashboard"), path = "no_dashboard.rs")]
mod dashboard;
mod login_routes;

// Access, requests and responses.
mod error;
mod extract;
mod logins;
mod response;
mod role;
mod security_headers;
mod session;

// Shared state.
mod client_admin;
mod config_admin;
mod definitions_cache;
mod process_admin;
mod provider_format;
mod state;

pub use api::openapi;
pub use client_admin::{
    ClientEntry, ClientFileChange, ClientInfo, ConnectionChange, ConnectionPreview, ImportFileInfo,
    ImportOutcome, ImportPreview, ImportSecretInfo, ImportServerInfo, ImportServerOutcome,
    ImportSourceInfo, SecretHandling,
};
pub use config_admin::{
    ConfigAdmin, DEFAULT_PROJECT, LoginAttempt, NewServer, NewTransport, Project, ProjectView,
    StartedLogin, TrustReview,
};
pub use logins::{LOGIN_CODE_LIFETIME, LoginStore, Logins, StoredLogin};
pub use process_admin::ProcessAdmin;
pub use role::{Admin, Authorized};
pub use state::{WebParts, WebState};

use axum::Router;

/// All routes of the API and the dashboard. They must not be served without the access checks of a
/// [`pegboard_gateway::http::Site`], whose access uses the [`Logins`] of the same state.
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
