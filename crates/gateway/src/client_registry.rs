//! Registers connected clients and their activity with the hub.

use std::sync::Arc;

use pegboard_hub::{ClientTransport, SessionHandle};
use serde_json::value::RawValue;

use crate::dispatch::{RequestContext, client_name};

/// Maximum size of `clientInfo` that identifies a client without a session. Longer ones are ignored.
const INFO_BYTES: usize = 1_024;

/// Records a request of the client.
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

/// Registers a client. Returns `None` for a legacy client before its handshake.
fn begin(ctx: &RequestContext<'_>) -> Option<Arc<SessionHandle>> {
    let conversation = ctx.conversation;
    let hub = &conversation.shared.hub;
    let transport = conversation.transport.get().copied();
    let info = ctx
        .meta
        .client
        .filter(|info| info.get().len() <= INFO_BYTES);
    if ctx.is_modern && transport.is_none() {
        let profile = &conversation.profile;
        let said = info.map_or("", RawValue::get);
        let key = format!("{profile}\n{said}");
        return Some(hub.open_or_find_client(&key, profile, || info.and_then(client_name)));
    }
    if !ctx.is_modern && conversation.legacy.get().is_none() {
        return None;
    }
    let transport = transport.unwrap_or(ClientTransport::HttpLegacy);
    let client = ctx.client();
    let (session, profile) = (&conversation.session, &conversation.profile);
    let presence = conversation
        .presence
        .get_or_init(|| hub.session_opened(session, transport, client, profile));
    Some(presence.clone())
}
