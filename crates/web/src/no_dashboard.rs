//! Replaces the dashboard in a build without it.

use axum::Router;
use axum::http::Uri;

use crate::state::WebState;

pub(crate) fn routes(_: WebState) -> Router {
    Router::new()
}

pub(crate) fn assets() -> Router {
    Router::new()
}

/// Always `false`: there are no pages.
pub(crate) fn is_page(_: &Uri) -> bool {
    false
}

/// The text shown instead of the login page.
pub(crate) fn login_page() -> String {
    let page = maud::html! {
        (maud::DOCTYPE)
        title { "Pegboard" }
        p { "This Pegboard was built without the dashboard. The HTTP API is at /api/v1." }
    };
    page.into_string()
}
