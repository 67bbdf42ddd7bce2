//! Noting who is connected, and what for.

use std::sync::Arc;

use pegboard_hub::{ClientTransport, SessionHandle};
use serde_json::value::RawValue;

use crate::dispatch::{RequestContext, client_name};

/// What a client without a session says of itself and is told apart by; longer words are not looked at.
const INFO_BYTES: usize = 1_024;

/// Notes that the client asked for something.
pub(crate) fn record(ctx: &RequestContext<'_>) {
    let conversation = ctx.conversation;
    let is_call = ctx.message.method() == "tools/call";
    if let Some(presence) = conversation.presence.get() {
        conversation
            .shared
            .hub
            .record_session_request(presence, is_call);
        return;
    }
    if let Some(presence) = begin(ctx) {
        conversation
            .shared
            .hub
            .record_session_request(&presence, is_call);
    }
}

/// A client that is not known yet. Before a legacy one has shaken hands nothing is known of it.
fn begin(ctx: &RequestContext<'_>) -> Option<Arc<SessionHandle>> {
    let conversation = ctx.conversation;
    let hub = &conversation.shared.hub;
    let face = conversation.face.get().copied();
    let info = ctx
        .meta
        .client
        .filter(|info| info.get().len() <= INFO_BYTES);
    if ctx.is_modern && face.is_none() {
        let profile = &conversation.profile;
        let said = info.map_or("", RawValue::get);
        let key = format!("{profile}\n{said}");
        return Some(hub.open_or_find_client(&key, profile, || info.and_then(client_name)));
    }
    if !ctx.is_modern && conversation.legacy.get().is_none() {
        return None;
    }
    let face = face.unwrap_or(ClientTransport::HttpLegacy);
    let client = ctx.client();
    let (session, profile) = (&conversation.session, &conversation.profile);
    let presence = conversation
        .presence
        .get_or_init(|| hub.session_opened(session, face, client, profile));
    Some(presence.clone())
}
