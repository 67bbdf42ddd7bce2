//! The `/metrics` endpoint.

use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use axum::routing::get;

/// The path of the endpoint.
const METRICS_PATH: &str = "/metrics";

/// Creates a route that renders `page` for each request, for [`super::Site::with`]. It must not be served without the
/// access check of a site.
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
