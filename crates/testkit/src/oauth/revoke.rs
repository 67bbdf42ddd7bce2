//! Revocation (RFC 7009): a refresh token ends its grant, an access token only itself.

use axum::response::Response;

use super::seen::SeenRequest;
use super::state::{Shared, lock};
use super::{client_auth, reply, token};

/// Revokes a token. An unknown one is no error.
pub(super) fn respond(shared: &Shared, seen: &SeenRequest) -> Response {
    let mut state = lock(&shared.state);
    if let Err(why) = client_auth::check(shared, &state, seen) {
        return reply::oauth_error(401, "invalid_client", &why);
    }
    let token = seen.parameter("token").unwrap_or_default();
    if let Some(refresh) = state.refresh.remove(token) {
        token::revoke(&mut state, refresh.grant);
    }
    state.access.remove(token);
    reply::text(200, "text/plain", String::new())
}
