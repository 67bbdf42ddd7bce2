//! Prompts, resources and completion: found in the catalog, answered by their server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use pegboard_hub::{ForwardRequest, SessionId};
use pegboard_model::{ErrorClass, ServerName, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calling::forwarded_meta;
use crate::dispatch::{Answered, Asked, Fault};
use crate::gateway::Shared;
use crate::listening::Place;
use crate::members::{Members, quoted};
use crate::response::code;
use crate::rounds::pass_through;

/// `prompts/get`.
pub(crate) async fn get_prompt(asked: &Asked<'_>) -> Answered {
    let Some(written) = asked.params.name.as_deref() else {
        return Err(Fault::invalid("`name` is missing"));
    };
    let (server, prompt) = match asked.view.profile.sole_server() {
        Some(server) => (server, written.to_owned()),
        None => {
            let found = asked.surface().catalog.find_prompt(written)?;
            (found.server.clone(), found.offer.key.clone())
        }
    };
    forward(asked, server, "name", &prompt).await
}

/// `resources/read`.
pub(crate) async fn read_resource(asked: &Asked<'_>) -> Answered {
    let Some(uri) = asked.params.uri.as_deref() else {
        return Err(Fault::invalid("`uri` is missing"));
    };
    let (server, own) = resource(asked, uri).map_err(|error| missing(asked, uri, error))?;
    forward(asked, server, "uri", &own).await
}

/// `completion/complete`.
pub(crate) async fn complete(asked: &Asked<'_>) -> Answered {
    #[derive(Deserialize)]
    struct Wish<'a> {
        #[serde(borrow, rename = "ref")]
        reference: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Reference<'a> {
        #[serde(borrow, default)]
        name: Option<std::borrow::Cow<'a, str>>,
        #[serde(borrow, default)]
        uri: Option<std::borrow::Cow<'a, str>>,
    }
    let wish: Wish<'_> = serde_json::from_str(asked.message.payload())
        .map_err(|error| Fault::invalid(format!("`ref` cannot be read: {error}")))?;
    let raw = wish.reference.get();
    let reference: Reference<'_> = serde_json::from_str(raw)
        .map_err(|error| Fault::invalid(format!("`ref` cannot be read: {error}")))?;
    let catalog = &asked.surface().catalog;
    let sole = asked.view.profile.sole_server();
    let (server, key, own) = match (&reference.name, &reference.uri, sole) {
        (_, _, Some(server)) => (server, "", String::new()),
        (Some(name), _, _) => {
            let found = catalog.find_prompt(name)?;
            (found.server.clone(), "name", found.offer.key.clone())
        }
        (None, Some(uri), _) => {
            let (server, own) = resource(asked, uri)?;
            (server, "uri", own)
        }
        (None, None, None) => return Err(Fault::invalid("`ref` names no prompt and no resource")),
    };
    let mut reference = Members::of(raw).unwrap_or(Members(Vec::new()));
    match key {
        "name" => reference.set("name", quoted(&own)),
        "uri" => reference.set("uri", quoted(&own)),
        _ => {}
    }
    let mut members = own_members(asked);
    members.set("ref", reference.to_string());
    let meta = forwarded_meta(asked);
    let request = ForwardRequest {
        session: asked.conversation.session.clone(),
        server,
        method: asked.message.method().to_owned(),
        members: members.inner(),
        name: None,
        caller: None,
        span: asked.above(meta.as_ref()),
        meta,
        input: None,
    };
    pass_through(asked, request).await
}

/// `resources/subscribe` and `resources/unsubscribe` of legacy clients.
pub(crate) async fn subscribe(asked: &Asked<'_>, watch: bool) -> Answered {
    let Some(uri) = asked.params.uri.as_deref() else {
        return Err(Fault::invalid("`uri` is missing"));
    };
    let (server, own) = resource(asked, uri).map_err(|error| missing(asked, uri, error))?;
    let conversation = asked.conversation;
    let shared = &conversation.shared;
    if watch && conversation.watches() >= shared.limits.watches_per_session {
        let most = shared.limits.watches_per_session;
        let why = format!("at most {most} resources can be watched at once");
        return Err(Fault::invalid(why));
    }
    shared
        .hub
        .watch_resource(&conversation.session, &server, &own, watch)
        .await?;
    conversation.watch(uri, watch);
    Ok(Bytes::from_static(b"{}"))
}

/// The server of a resource, and its own uri for it.
pub(crate) fn resource(asked: &Asked<'_>, uri: &str) -> ToolResult<Place> {
    match asked.view.profile.sole_server() {
        Some(server) => Ok((server, uri.to_owned())),
        None => {
            let (entry, own) = asked.surface().catalog.find_resource(uri)?;
            Ok((entry.spec.name.clone(), own))
        }
    }
}

/// Watches a resource until it is dropped.
pub(crate) struct Watched {
    shared: Arc<Shared>,
    watcher: SessionId,
    place: Option<Place>,
}

impl Watched {
    /// Several requests of one client may watch the same, and each ends by itself: so each is a watcher of its own.
    pub(crate) async fn begin(
        asked: &Asked<'_>,
        server: ServerName,
        uri: String,
    ) -> ToolResult<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let (shared, session) = (&asked.conversation.shared, &asked.conversation.session.0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let watcher = SessionId(format!("{session}-watch-{number}"));
        let watching = shared.hub.watch_resource(&watcher, &server, &uri, true);
        watching.await?;
        Ok(Self {
            shared: shared.clone(),
            watcher,
            place: Some((server, uri)),
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let (shared, watcher) = (self.shared.clone(), self.watcher.clone());
        if let Some((server, uri)) = self.place.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let ending = shared.hub.watch_resource(&watcher, &server, &uri, false);
                // A server that is gone watches nothing.
                let _ = ending.await;
            });
        }
    }
}

/// Passes a request on under the server's own name for its subject.
async fn forward(asked: &Asked<'_>, server: ServerName, key: &'static str, own: &str) -> Answered {
    let mut members = own_members(asked);
    members.set(key, quoted(own));
    let meta = forwarded_meta(asked);
    let request = ForwardRequest {
        session: asked.conversation.session.clone(),
        server,
        method: asked.message.method().to_owned(),
        members: members.inner(),
        name: Some(own.to_owned()),
        caller: None,
        span: asked.above(meta.as_ref()),
        meta,
        input: None,
    };
    pass_through(asked, request).await
}

/// The members of `params` that are the request's own.
fn own_members<'a>(asked: &Asked<'a>) -> Members<'a> {
    let mut members = Members::of(asked.message.payload()).unwrap_or(Members(Vec::new()));
    for key in ["_meta", "inputResponses", "requestState"] {
        members.remove(key);
    }
    members
}

/// A resource that is not there has a code of its own in older revisions.
fn missing(asked: &Asked<'_>, uri: &str, error: ToolError) -> Fault {
    if error.code != ErrorClass::InvalidInput {
        return error.into();
    }
    let mut fault = Fault::from(error);
    if !asked.is_modern {
        fault.error.code = code::LEGACY_RESOURCE_NOT_FOUND;
    }
    let mut data = fault.error.data.as_deref().and_then(Members::of);
    if let Some(data) = &mut data {
        data.set("uri", quoted(uri));
    }
    let data = data.map(|data| data.to_string());
    fault.error.data = data.or(fault.error.data);
    fault
}
