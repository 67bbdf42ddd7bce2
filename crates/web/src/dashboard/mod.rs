//! The dashboard: server-rendered pages.
//!
//! Each screen is a handler that reads the current snapshot, and functions from values to markup. Actions go through
//! the API, sent by the page's script; pages only read.
//!
//! Invariant: untrusted text reaches a page through [`display`], and markup is escaped by the template.
//! Invariant: every page has a bounded number of rows.
//! Invariant: a page runs, styles and loads only the embedded files.

// Frame.
mod assets;
mod icons;
mod page;
mod request;
mod review;

// Building blocks.
mod components;
mod display;
mod indent;
mod status;

// Screens.
mod activity;
mod add_server;
mod approvals;
mod client_list;
mod clients;
mod connect;
mod context;
mod formats;
mod import;
mod overview;
mod running;
mod search;
mod server;
mod server_cards;
mod servers;
mod tool;
mod tools;
mod trust;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::routing::get;
use pegboard_hub::Hub;
use pegboard_model::Timestamp;

use crate::state::WebState;

pub(crate) use assets::assets;
pub(crate) use page::{is_page, login_page};

/// The state of all screens.
#[derive(Clone)]
pub(crate) struct Pages {
    web: WebState,
}

impl Pages {
    fn hub(&self) -> &Hub {
        self.web.hub()
    }

    fn now(&self) -> Timestamp {
        self.web.clock().now()
    }
}

/// The routes of all screens.
pub(crate) fn routes(state: WebState) -> Router {
    Router::new()
        .route("/", get(overview::show))
        .route("/servers", get(servers::show))
        .route("/add-server", get(add_server::show))
        .route("/import", get(import::show))
        .route("/servers/{server}", get(server::show))
        .route("/tools", get(tools::show))
        .route("/tools/{tool}", get(tool::show))
        .route("/search", get(search::show))
        .route("/approvals", get(approvals::show))
        .route("/review", get(review::show))
        .route("/activity", get(activity::show))
        .route("/context", get(context::show))
        .route("/clients", get(running::show))
        .route("/connect", get(connect::show))
        .with_state(Pages { web: state })
}
