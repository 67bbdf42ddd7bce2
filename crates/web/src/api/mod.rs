//! The API under `/api/v1`: one file for each resource.

mod described;
mod logins;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use pegboard_model::Reason;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::fault::{ErrorBody, Fault};
use crate::state::WebState;
use described::Tokens;

/// Where the API is.
const ROOT: &str = "/api/v1";

/// The description of the API, made from its handlers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Pegboard",
        description = "Every tool of every MCP server, known without starting any.\n\nReading starts nothing. \
            Whatever changes the configuration, policies, consents or what gets started needs the admin token.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    modifiers(&Tokens)
)]
struct Described;

fn described() -> OpenApiRouter<WebState> {
    let api = OpenApiRouter::new().routes(routes!(logins::mint));
    OpenApiRouter::with_openapi(Described::openapi()).nest(ROOT, api)
}

/// The description of the API as JSON.
pub fn openapi() -> String {
    let (_, document) = described().split_for_parts();
    document.to_json().unwrap_or_default()
}

/// The routes of the API.
pub(crate) fn routes(state: WebState) -> Router {
    let (router, document) = described().split_for_parts();
    let document: bytes::Bytes = document.to_json().unwrap_or_default().into();
    let show = move || async move {
        let kind = [(axum::http::header::CONTENT_TYPE, "application/json")];
        (kind, document).into_response()
    };
    let not_so = || async { Fault::of(Reason::MethodRefused).into_response() };
    router
        .route("/api/v1/openapi.json", get(show))
        .method_not_allowed_fallback(not_so)
        .with_state(state)
}
