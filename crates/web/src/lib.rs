//! The catalog as an HTTP API with its OpenAPI description, and the dashboard on top of it.
//!
//! Invariant: reading starts no server, connects to none and waits for none: what is read comes from snapshots.
//! Invariant: whatever changes the configuration, the policies, consents, or what gets started, takes [`Admin`].
//! Invariant: every error has one shape, with a code of the one table and the next step.
//! Invariant: no file is known here; what lies in files is asked from the [`Household`].
//! Invariant: nothing is served without the checks of a [`pegboard_gateway::http::Site`].

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

// The rooms of the house.
mod api;
#[cfg_attr(not(feature = "dashboard"), path = "no_dashboard.rs")]
mod dashboard;
mod login;

// Who asks, what they send, and what they get back.
mod answer;
mod fault;
mod input;
mod role;
mod session;
mod shielded;
mod visitors;

// What everything works on.
mod household;
mod state;

pub use api::openapi;
pub use household::{
    DEFAULT_PROJECT, Household, NewServer, NewTransport, Project, ProjectView, TrustReview,
};
pub use role::{Admin, Anybody};
pub use state::{WebParts, WebState};
pub use visitors::{LoginStore, Logins, ONE_TIME_LOGIN, StoredLogin};

use axum::Router;

/// Every route of API and dashboard. They must not be served without the checks of a
/// [`pegboard_gateway::http::Site`], whose access knows the [`Logins`] of the same state.
pub fn routes(state: WebState) -> Router {
    Router::new()
        .merge(api::routes(state.clone()))
        .merge(login::routes(state.clone()))
        .merge(dashboard::assets())
        .merge(dashboard::routes(state))
        .layer(axum::middleware::map_response(shielded::shield))
}
