//! The API under `/api/v1`: one file for each resource.

mod activity;
mod approvals;
mod calls;
mod clear;
mod clients;
mod configuration_view;
mod context;
mod definitions;
mod discover;
mod events;
pub(crate) mod grants;
mod import;
mod lazy_router;
mod logins;
mod openapi_security;
mod policies;
mod policy_explain;
mod process;
mod projects;
mod refresh;
mod reviews;
mod search;
mod server_add;
mod server_changes;
mod server_enable;
mod server_login;
mod server_view;
mod servers;
mod sessions;
mod stats;
mod tool_list;
mod tools;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use pegboard_model::Reason;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ApiError, ErrorBody};
use crate::state::WebState;
use lazy_router::LazyRouter;
use openapi_security::BearerTokens;

/// The base path.
const ROOT: &str = "/api/v1";

/// The OpenAPI description, generated from the handlers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Pegboard",
        description = "Every tool of every MCP server, known without starting any.\n\nReads start nothing. Changing the \
            configuration, policies, grants or which servers run requires the admin token.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    modifiers(&BearerTokens)
)]
struct ApiDoc;

fn resources() -> OpenApiRouter<WebState> {
    OpenApiRouter::new()
        .routes(routes!(projects::list))
        .routes(routes!(projects::configuration))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::configuration))
        .routes(routes!(process::show))
        .routes(routes!(process::stop_instance))
        .routes(routes!(servers::list, server_add::add))
        .routes(routes!(
            servers::one,
            server_changes::change,
            server_changes::remove
        ))
        .routes(routes!(servers::health))
        .routes(routes!(servers::logs))
        .routes(routes!(server_enable::enable))
        .routes(routes!(server_enable::disable))
        .routes(routes!(server_enable::trust))
        .routes(routes!(
            server_login::show,
            server_login::start,
            server_login::end
        ))
        .routes(routes!(refresh::one))
        .routes(routes!(refresh::all))
        .routes(routes!(discover::run))
        .routes(routes!(clear::one))
        .routes(routes!(clear::all))
        .routes(routes!(tools::list))
        .routes(routes!(tools::one))
        .routes(routes!(tools::format))
        .routes(routes!(calls::call))
        .routes(routes!(search::search))
        .routes(routes!(search::teach))
        .routes(routes!(policies::list, policies::set, policies::unset))
        .routes(routes!(policy_explain::explain))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::decide))
        .routes(routes!(grants::list, grants::revoke))
        .routes(routes!(reviews::list, reviews::decide))
        .routes(routes!(clients::list))
        .routes(routes!(clients::plan))
        .routes(routes!(clients::connect, clients::disconnect))
        .routes(routes!(import::plan))
        .routes(routes!(import::import))
        .routes(routes!(activity::list))
        .routes(routes!(stats::show))
        .routes(routes!(context::show))
        .routes(routes!(definitions::show))
        .routes(routes!(definitions::run))
        .routes(routes!(events::listen))
        .routes(routes!(logins::mint))
        .routes(routes!(logins::call_token))
}

/// The OpenAPI description as JSON.
pub fn openapi() -> String {
    let router = OpenApiRouter::with_openapi(ApiDoc::openapi()).nest(ROOT, resources());
    let (_, document) = router.split_for_parts();
    document.to_json().unwrap_or_default()
}

/// The routes of the API.
pub(crate) fn routes(state: WebState) -> Router {
    Router::new().nest_service(ROOT, LazyRouter::new(state, build_router))
}

fn build_router(state: WebState) -> Router {
    let (router, _) = resources().split_for_parts();
    let document = bytes::Bytes::from(openapi());
    let show = move || async move {
        let kind = [(axum::http::header::CONTENT_TYPE, "application/json")];
        (kind, document).into_response()
    };
    let method_not_allowed = || async { ApiError::of(Reason::MethodRefused).into_response() };
    let not_found = || async { ApiError::of(Reason::PathUnknown).into_response() };
    router
        .route("/openapi.json", get(show))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(not_found)
        .with_state(state)
}
