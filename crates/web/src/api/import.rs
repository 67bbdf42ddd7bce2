//! The import of other clients' servers.

use axum::extract::State;
use pegboard_model::ServerName;
use serde::Deserialize;
use utoipa::ToSchema;

use super::server_changes::record_change;
use crate::client_admin::{ImportOutcome, ImportPreview, SecretHandling};
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{Json, OptionalJson};
use crate::response::NoStore;
use crate::role::Admin;
use crate::state::WebState;

/// Which clients to look at.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportPlanRequest {
    /// Keys of clients; all clients by default.
    #[serde(default)]
    clients: Vec<String>,
}

/// The servers to import.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ImportRequest {
    /// `planHash` of the plan that was reviewed.
    plan_hash: String,
    /// Names in Pegboard of the servers to import.
    servers: Vec<String>,
    /// What to do with values that look like secrets; `store` by default.
    #[serde(default)]
    secrets: SecretHandling,
}

/// Shows what an import of other clients' servers would write. Nothing is written or started.
#[utoipa::path(
    post,
    operation_id = "planImport",
    path = "/import/plan",
    tag = "clients",
    security(("admin" = [])),
    request_body = ImportPlanRequest,
    responses(
        (status = 200, description = "The servers in the clients' files", body = ImportPreview),
        (status = 400, description = "The request is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "A client is unknown", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn plan(
    _: Admin,
    State(state): State<WebState>,
    OptionalJson(request): OptionalJson<ImportPlanRequest>,
) -> ApiResult<NoStore<ImportPreview>> {
    for client in &request.clients {
        super::clients::known_client(client)?;
    }
    let mut preview = state.config_admin().import_plan().await?;
    if !request.clients.is_empty() {
        let is_wanted = |client: &str| request.clients.iter().any(|key| key == client);
        preview.files.retain(|file| is_wanted(&file.client));
        let wanted = preview.files.iter().flat_map(|file| file.servers.clone());
        let mut wanted: Vec<usize> = wanted.collect();
        wanted.sort_unstable();
        wanted.dedup();
        let all = std::mem::take(&mut preview.servers);
        let kept = all.into_iter().enumerate();
        preview.servers = kept
            .filter(|(index, _)| wanted.contains(index))
            .map(|(_, server)| server)
            .collect();
        for file in &mut preview.files {
            let place = |index: &usize| wanted.iter().position(|kept| kept == index);
            file.servers = file.servers.iter().filter_map(place).collect();
        }
    }
    Ok(NoStore(preview))
}

/// Imports servers of a reviewed plan. They are discovered in the background; the clients' files are not changed.
#[utoipa::path(
    post,
    operation_id = "importServers",
    path = "/import",
    tag = "clients",
    security(("admin" = [])),
    request_body = ImportRequest,
    responses(
        (status = 200, description = "The result for each server", body = ImportOutcome),
        (status = 400, description = "The request is invalid, or a file cannot be written", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 409, description = "The servers have changed since the plan was made; nothing was imported", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
    )
)]
pub(super) async fn import(
    admin: Admin,
    State(state): State<WebState>,
    Json(request): Json<ImportRequest>,
) -> ApiResult<NoStore<ImportOutcome>> {
    let outcome = state
        .config_admin()
        .import(&request.plan_hash, request.servers, request.secrets)
        .await?;
    for result in outcome.results.iter().filter(|one| one.state == "written") {
        if let Ok(name) = ServerName::parse(&result.name) {
            record_change(&state, &admin, &name, "imported");
        }
    }
    state.hub().discover_unknown_in_background();
    Ok(NoStore(outcome))
}
