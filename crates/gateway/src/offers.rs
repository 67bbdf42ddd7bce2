//! Prompts, resources and completion: found in the catalog, answered by their server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use pegboard_guard::has_duplicate_key;
use pegboard_hub::{ForwardRequest, OfferRef, SessionId};
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
    forward(asked, server, "name", OfferRef::Prompt(prompt)).await
}

/// `resources/read`.
pub(crate) async fn read_resource(asked: &Asked<'_>) -> Answered {
    let Some(uri) = asked.params.uri.as_deref() else {
        return Err(Fault::invalid("`uri` is missing"));
    };
    let (server, own) = resource(asked, uri).map_err(|error| missing(asked, uri, error))?;
    let about = OfferRef::Resource(own);
    let answered = forward(asked, server, "uri", about).await;
    answered.map_err(|fault| named(asked, uri, fault))
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
    let (server, key, about) = match (&reference.name, &reference.uri, sole) {
        (Some(name), _, Some(server)) => (server, "name", OfferRef::Prompt(name.to_string())),
        (None, Some(uri), Some(server)) => (server, "uri", OfferRef::Template(uri.to_string())),
        (Some(name), _, None) => {
            let found = catalog.find_prompt(name)?;
            let about = OfferRef::Prompt(found.offer.key.clone());
            (found.server.clone(), "name", about)
        }
        (None, Some(uri), None) => {
            let (server, own) = resource(asked, uri)?;
            (server, "uri", OfferRef::Template(own))
        }
        (None, None, _) => return Err(Fault::invalid("`ref` names no prompt and no resource")),
    };
    let mut reference = Members::of(raw).unwrap_or(Members(Vec::new()));
    reference.set(key, quoted(about.key()));
    let mut members = own_members(asked)?;
    members.set("ref", reference.to_string());
    let meta = forwarded_meta(asked);
    let request = ForwardRequest {
        session: asked.conversation.session.clone(),
        server,
        method: asked.message.method().to_owned(),
        members: members.inner(),
        about,
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
    if watch && conversation.watches() >= shared.limits.subscriptions_per_session {
        let most = shared.limits.subscriptions_per_session;
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
            let error = match asked.surface().catalog.find_resource(uri) {
                Ok((entry, own)) => return Ok((entry.spec.name.clone(), own)),
                Err(error) => error,
            };
            // A server may have named it to this session a moment ago.
            let conversation = asked.conversation;
            let hub = &conversation.shared.hub;
            let linked = hub.linked_server(&conversation.session, uri);
            match linked.filter(|server| asked.view.profile.holds(server)) {
                Some(server) => Ok((server, uri.to_owned())),
                None => Err(error),
            }
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
async fn forward(
    asked: &Asked<'_>,
    server: ServerName,
    key: &'static str,
    about: OfferRef,
) -> Answered {
    let mut members = own_members(asked)?;
    members.set(key, quoted(about.key()));
    let meta = forwarded_meta(asked);
    let request = ForwardRequest {
        session: asked.conversation.session.clone(),
        server,
        method: asked.message.method().to_owned(),
        members: members.inner(),
        about,
        caller: None,
        span: asked.above(meta.as_ref()),
        meta,
        input: None,
    };
    pass_through(asked, request).await
}

/// The members of `params` that are the request's own. What has a key twice could mean two things, so it is refused.
fn own_members<'a>(asked: &Asked<'a>) -> Result<Members<'a>, Fault> {
    if has_duplicate_key(asked.message.payload()) {
        return Err(Fault::invalid(
            "`params` has a key twice; give every key once",
        ));
    }
    let mut members = Members::of(asked.message.payload()).unwrap_or(Members(Vec::new()));
    for key in ["_meta", "inputResponses", "requestState"] {
        members.remove(key);
    }
    Ok(members)
}

/// A resource that is not there has a code of its own in older revisions.
fn missing(asked: &Asked<'_>, uri: &str, error: ToolError) -> Fault {
    if error.code != ErrorClass::InvalidInput {
        return error.into();
    }
    named(asked, uri, error.into())
}

/// The same for a failure that was told before; a server's own error stays as it is.
fn named(asked: &Asked<'_>, uri: &str, mut fault: Fault) -> Fault {
    let mut data = fault.error.data.as_deref().and_then(Members::of);
    let is_ours = |data: &Members<'_>| {
        data.get("reason") == Some(r#""RESOURCE_UNKNOWN""#)
            || data.get("reason") == Some(r#""SERVER_UNKNOWN""#)
    };
    if fault.error.code != code::INVALID_PARAMS || !data.as_ref().is_some_and(is_ours) {
        return fault;
    }
    if !asked.is_modern {
        fault.error.code = code::LEGACY_RESOURCE_NOT_FOUND;
    }
    if let Some(data) = &mut data {
        data.set("uri", quoted(uri));
    }
    let data = data.map(|data| data.to_string());
    fault.error.data = data.or(fault.error.data);
    fault
}
