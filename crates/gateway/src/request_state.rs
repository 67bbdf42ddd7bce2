//! `requestState`: what a modern client carries between two rounds of a request, sealed so that it is valid for the same
//! request only.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::dispatch::{RequestContext, RequestError};
use crate::members::{Members, quoted};
use crate::parked::PARK_TIMEOUT;

const PURPOSE: &str = "request state";

/// The content of `requestState`. `digest` identifies the request.
#[derive(Serialize, Deserialize)]
pub(crate) enum RequestState {
    /// The server's own state, valid until a Unix time in seconds.
    Server {
        digest: String,
        state: Box<RawValue>,
        until: u64,
    },
    /// The name of a parked call.
    Parked { digest: String, call: String },
}

/// Opens the state that the client sent.
///
/// # Errors
/// Fails if the state is invalid, has expired, or belongs to another request.
pub(crate) fn open_state(
    ctx: &RequestContext<'_>,
    state: &str,
) -> Result<RequestState, RequestError> {
    let sealer = &ctx.conversation.shared.sealer;
    let state = sealer.open(PURPOSE, state).filter(|state| {
        let (RequestState::Server { digest, .. } | RequestState::Parked { digest, .. }) = state;
        *digest == request_digest(ctx)
    });
    match state {
        Some(RequestState::Server { until, .. }) if until < now() => Err(RequestError::invalid(
            "`requestState` has expired; send the request again without it",
        )),
        Some(state) => Ok(state),
        None => Err(RequestError::invalid(
            "`requestState` is invalid or belongs to another request; send the request again without it",
        )),
    }
}

/// Seals the state in a modern server's `input_required` result. Returns `None` if the result is not an object.
pub(crate) fn seal_server_state(ctx: &RequestContext<'_>, result: &RawValue) -> Option<String> {
    let mut members = Members::of(result.get())?;
    let state = members.get("requestState").map(str::to_owned);
    if let Some(state) = state.and_then(|state| RawValue::from_string(state).ok()) {
        let sealed = seal(
            ctx,
            &RequestState::Server {
                digest: request_digest(ctx),
                state,
                until: now().saturating_add(PARK_TIMEOUT.as_secs()),
            },
        );
        members.set("requestState", quoted(&sealed));
    }
    Some(members.to_string())
}

/// Seals the name of a parked call.
pub(crate) fn seal_parked(ctx: &RequestContext<'_>, call: String) -> String {
    let digest = request_digest(ctx);
    seal(ctx, &RequestState::Parked { digest, call })
}

fn seal(ctx: &RequestContext<'_>, state: &RequestState) -> String {
    let sealed = ctx.conversation.shared.sealer.seal(PURPOSE, state);
    sealed.unwrap_or_default()
}

/// A hash of what the request does, equal for all its rounds.
fn request_digest(ctx: &RequestContext<'_>) -> String {
    let mut hasher = blake3::Hasher::new();
    let arguments = ctx.params.arguments.map_or("", RawValue::get);
    let subject = ctx.message.subject().unwrap_or_default();
    let (profile, method) = (ctx.conversation.profile.as_str(), ctx.message.method());
    for part in [profile, method, subject, arguments] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let hex = hasher.finalize().to_hex();
    hex.get(..32).unwrap_or_default().to_owned()
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
