//! What stands in for the dashboard in a program that is built without it.

use axum::Router;
use axum::http::Uri;

use crate::state::WebState;

pub(crate) fn routes(_: WebState) -> Router {
    Router::new()
}

pub(crate) fn assets() -> Router {
    Router::new()
}

/// Whether a dashboard page is at this address: there is none.
pub(crate) fn is_page(_: &Uri) -> bool {
    false
}

/// What is shown in place of the login page.
pub(crate) fn login_page() -> String {
    let page = maud::html! {
        (maud::DOCTYPE)
        title { "Pegboard" }
        p { "This Pegboard was built without the dashboard. The HTTP API is at /api/v1." }
    };
    page.into_string()
}
