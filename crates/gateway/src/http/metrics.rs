//! `/metrics`: what was counted, for whoever collects it.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;

/// Where it is found.
const METRICS_PATH: &str = "/metrics";

/// A route that answers with a page that is written anew for each request, for [`super::Site::with`]. It must not be
/// served without a site's checks.
pub fn metrics_route(
    content_type: &'static str,
    page: impl Fn() -> String + Clone + Send + Sync + 'static,
) -> Router {
    let answer = move || {
        let page = page();
        let headers = [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-store")];
        std::future::ready((headers, page).into_response())
    };
    Router::new().route(METRICS_PATH, get(answer))
}
