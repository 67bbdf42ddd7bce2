//! Forgetting the tools that are known of servers.

use axum::extract::State;
use pegboard_model::{Activity, ActivityKind};
use serde::Serialize;
use utoipa::ToSchema;

use super::server_changes::note;
use crate::answer::Fresh;
use crate::fault::{Answered, ErrorBody};
use crate::input::{OfServer, no_server};
use crate::role::Admin;
use crate::state::WebState;

/// What was forgotten.
#[derive(Serialize, ToSchema)]
pub(super) struct Cleared {
    /// How many stored lists of tools.
    cleared: usize,
}

/// Forgets the tools of one server. They are discovered again when they are needed.
#[utoipa::path(
    post,
    operation_id = "clearServer",
    path = "/servers/{name}/clear",
    tag = "servers",
    security(("admin" = [])),
    params(("name" = String, Path, description = "The server")),
    responses(
        (status = 200, description = "Its tools are forgotten", body = Cleared),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 404, description = "No such server is configured", body = ErrorBody),
        (status = 503, description = "The store could not be changed", body = ErrorBody),
    )
)]
pub(super) async fn one(
    admin: Admin,
    State(state): State<WebState>,
    OfServer(name): OfServer,
) -> Answered<Fresh<Cleared>> {
    if state.hub().catalog().server(&name).is_none() {
        return Err(no_server(name.as_str()));
    }
    let was_stored = state.hub().invalidate(&name).await?;
    note(&state, &admin, &name, "cleared");
    Ok(Fresh(Cleared {
        cleared: usize::from(was_stored),
    }))
}

/// Forgets the tools of every server, also of servers that only other projects have. They are discovered again when
/// they are needed.
#[utoipa::path(
    post,
    operation_id = "clearServers",
    path = "/clear",
    tag = "servers",
    security(("admin" = [])),
    responses(
        (status = 200, description = "All tools of servers are forgotten", body = Cleared),
        (status = 401, description = "The token is missing or wrong", body = ErrorBody),
        (status = 403, description = "The admin token is needed", body = ErrorBody),
        (status = 503, description = "The store could not be changed", body = ErrorBody),
    )
)]
pub(super) async fn all(admin: Admin, State(state): State<WebState>) -> Answered<Fresh<Cleared>> {
    let cleared = state.hub().clear().await?;
    state.hub().record_activity(Activity {
        session: Some(admin.word().to_owned()),
        ..Activity::new(state.clock().now(), ActivityKind::Config, "cleared")
    });
    Ok(Fresh(Cleared { cleared }))
}
