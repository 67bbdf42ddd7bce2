//! Grants.

use axum::extract::State;
use axum::http::StatusCode;
use pegboard_catalog::Catalog;
use pegboard_guard::fingerprint;
use pegboard_model::{Grant, Reason, UntrustedText};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::Query;
use crate::response::NoStore;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// All grants.
#[derive(Serialize, ToSchema)]
pub(super) struct Grants {
    /// The grants, sorted by server and tool.
    grants: Vec<GrantEntry>,
}

/// A grant: one version of a tool is always allowed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GrantEntry {
    /// The tool's exposed name when it was granted.
    tool: String,
    /// The server of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The fingerprint of the granted version.
    fingerprint: String,
    /// When it was granted, in milliseconds since 1970.
    at: u64,
    /// Who granted it.
    by: String,
    /// Whether the tool or its server changed or was removed, so that the tool asks again.
    is_outdated: bool,
}

/// Lists the grants.
#[utoipa::path(
    get,
    operation_id = "listGrants",
    path = "/grants",
    tag = "policies",
    responses(
        (status = 200, description = "All grants", body = Grants),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 503, description = "The store could not be read", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
) -> ApiResult<NoStore<Grants>> {
    let grants = state.hub().grants().await?;
    let catalog = state.hub().catalog();
    let granted = grants.into_iter().map(|grant| {
        let is_outdated = is_outdated(&catalog, &grant);
        let version = grant.version;
        GrantEntry {
            tool: grant.exposed,
            is_outdated,
            server: version.server.map(|server| server.to_string()),
            fingerprint: version.fingerprint.to_string(),
            at: grant.at.0,
            by: grant.by,
        }
    });
    let grants = granted.collect();
    Ok(NoStore(Grants { grants }))
}

/// Whether a grant no longer applies: its server's definition changed, or the tool changed or was removed.
pub(crate) fn is_outdated(catalog: &Catalog, grant: &Grant) -> bool {
    let version = &grant.version;
    let Some(server) = &version.server else {
        let tool = catalog.static_tool(&grant.exposed);
        let present = tool.and_then(|tool| fingerprint(&tool.definition));
        return present != Some(version.fingerprint);
    };
    let entry = catalog.server(server);
    let entry = entry.filter(|entry| entry.spec.hash == version.config);
    let mut tools = entry.map(|entry| entry.record.tools.iter());
    let present = tools
        .as_mut()
        .and_then(|tools| tools.find(|tool| tool.name == version.tool));
    present.is_none_or(|tool| tool.fingerprint != version.fingerprint)
}

/// Identifies a grant.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct GrantQuery {
    /// The tool, as `server__tool` or `server/tool`.
    tool: String,
}

/// Revokes a grant; the tool asks again.
#[utoipa::path(
    delete,
    operation_id = "revokeGrant",
    path = "/grants",
    tag = "policies",
    security(("admin" = [])),
    params(GrantQuery),
    responses(
        (status = 204, description = "It was revoked"),
        (status = 400, description = "A query parameter is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "There is no grant for this tool", body = ErrorBody),
        (status = 503, description = "The store could not be written", body = ErrorBody),
    )
)]
pub(super) async fn revoke(
    _: Admin,
    State(state): State<WebState>,
    Query(query): Query<GrantQuery>,
) -> ApiResult<StatusCode> {
    let grants = state.hub().grants().await?;
    let matches = |grant: &&Grant| {
        let version = &grant.version;
        let server = version.server.as_ref();
        let qualified = server.map(|server| format!("{server}/{}", version.tool));
        grant.exposed == query.tool || qualified.as_deref() == Some(&query.tool)
    };
    let Some(grant) = grants.iter().find(matches) else {
        let tool = UntrustedText::new(&query.tool).shortened(80);
        let message = format!("there is no grant for `{tool}`");
        return Err(ApiError::new(Reason::GrantUnknown, message));
    };
    let version = &grant.version;
    state
        .hub()
        .revoke_grant(version.server.as_ref(), &version.tool)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
