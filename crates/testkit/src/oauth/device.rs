//! The device grant (RFC 8628).

use axum::response::Response;
use serde_json::json;

use super::clients::Client;
use super::route::Route;
use super::seen::SeenRequest;
use super::state::{Device, Grant, Shared, State, lock};
use super::token::{Granted, Refused, refused};
use super::{client_auth, reply};

/// How long a device code is valid, in seconds.
const LIFETIME: u64 = 600;
/// How often a device may ask, in seconds.
const INTERVAL: u64 = 1;

/// Starts the flow of a device.
pub(super) fn respond(shared: &Shared, seen: &SeenRequest) -> Response {
    let mut state = lock(&shared.state);
    let client = match client_auth::check(shared, &state, seen) {
        Ok(client) => client,
        Err(why) => return reply::oauth_error(401, "invalid_client", &why),
    };
    let device_code = state.secret("device");
    let user_code = format!("TEST-{:04}", state.devices.len() + 1);
    let page = shared.endpoint(Route::DeviceApproval);
    let answer = json!({
        "device_code": device_code,
        "user_code": user_code,
        "verification_uri": page,
        "verification_uri_complete": format!("{page}?user_code={user_code}"),
        "expires_in": LIFETIME,
        "interval": INTERVAL,
    });
    let device = Device {
        client: client.id,
        user_code,
        scope: seen.parameter("scope").unwrap_or_default().to_owned(),
        resource: seen.parameter("resource").map(str::to_owned),
        approved: None,
    };
    state.devices.insert(device_code, device);
    reply::json(200, &answer)
}

/// The page where a person enters the code; it approves at once.
pub(super) fn approve(shared: &Shared, seen: &SeenRequest) -> Response {
    let user_code = seen.parameter("user_code").unwrap_or_default();
    let mut state = lock(&shared.state);
    let waiting = state.devices.values_mut();
    let mut matching = waiting.filter(|device| device.user_code == user_code);
    match matching.next() {
        Some(device) => {
            device.approved = Some(true);
            reply::html(200, "the device is logged in")
        }
        None => reply::html(404, "unknown code"),
    }
}

/// Exchanges a device code for a grant.
pub(super) fn redeem(
    state: &mut State,
    seen: &SeenRequest,
    client: &Client,
) -> Result<Granted, Refused> {
    let code = seen.parameter("device_code").unwrap_or_default().to_owned();
    let device = state.devices.get(&code).cloned();
    let device = device.filter(|device| device.client == client.id);
    let device = device.ok_or_else(|| refused("invalid_grant", "unknown device code"))?;
    match device.approved {
        None => return Err(refused("authorization_pending", "not approved yet")),
        Some(false) => return Err(refused("access_denied", "declined")),
        Some(true) => {}
    }
    state.devices.remove(&code);
    let grant = state.grants.len();
    state.grants.push(Grant {
        client: client.id.clone(),
        scope: device.scope.clone(),
        resource: device.resource,
        is_revoked: false,
    });
    Ok(Granted {
        grant,
        scope: device.scope,
        refresh: true,
    })
}
