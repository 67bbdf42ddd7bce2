//! Prompts, resources and completion: resolved with the catalog and forwarded to their server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use pegboard_guard::has_duplicate_key;
use pegboard_hub::{ForwardRequest, OfferRef, SessionId};
use pegboard_jsonrpc::{Members, quoted};
use pegboard_model::{ErrorClass, ServerName, ToolError, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::calling::forwarded_meta;
use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::gateway::Shared;
use crate::input_rounds::forward_request;
use crate::listen::ResourceLocation;
use crate::response::code;

/// Handles `prompts/get`.
pub(crate) async fn get_prompt(ctx: &RequestContext<'_>) -> HandlerResult {
    let Some(written) = ctx.params.name.as_deref() else {
        return Err(RequestError::invalid("`name` is missing"));
    };
    let (server, prompt) = match ctx.view.profile.sole_server() {
        Some(server) => (server, written.to_owned()),
        None => {
            let found = ctx.surface().catalog.find_prompt(written)?;
            (found.server.clone(), found.offer.key.clone())
        }
    };
    forward_as(ctx, server, "name", OfferRef::Prompt(prompt)).await
}

/// Handles `resources/read`.
pub(crate) async fn read_resource(ctx: &RequestContext<'_>) -> HandlerResult {
    let Some(uri) = ctx.params.uri.as_deref() else {
        return Err(RequestError::invalid("`uri` is missing"));
    };
    let (server, own) = resource(ctx, uri).map_err(|error| missing(ctx, uri, error))?;
    let about = OfferRef::Resource(own);
    let answered = forward_as(ctx, server, "uri", about).await;
    answered.map_err(|fault| named(ctx, uri, fault))
}

/// Handles `completion/complete`.
pub(crate) async fn complete(ctx: &RequestContext<'_>) -> HandlerResult {
    #[derive(Deserialize)]
    struct CompleteParams<'a> {
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
    let params: CompleteParams<'_> = serde_json::from_str(ctx.message.payload())
        .map_err(|error| RequestError::invalid(format!("`ref` cannot be read: {error}")))?;
    let raw = params.reference.get();
    let reference: Reference<'_> = serde_json::from_str(raw)
        .map_err(|error| RequestError::invalid(format!("`ref` cannot be read: {error}")))?;
    let catalog = &ctx.surface().catalog;
    let sole = ctx.view.profile.sole_server();
    let (server, key, about) = match (&reference.name, &reference.uri, sole) {
        (Some(name), _, Some(server)) => (server, "name", OfferRef::Prompt(name.to_string())),
        (None, Some(uri), Some(server)) => (server, "uri", OfferRef::Template(uri.to_string())),
        (Some(name), _, None) => {
            let found = catalog.find_prompt(name)?;
            let about = OfferRef::Prompt(found.offer.key.clone());
            (found.server.clone(), "name", about)
        }
        (None, Some(uri), None) => {
            let (server, own) = resource(ctx, uri)?;
            (server, "uri", OfferRef::Template(own))
        }
        (None, None, _) => {
            return Err(RequestError::invalid(
                "`ref` must name a prompt or a resource",
            ));
        }
    };
    let mut reference = Members::of(raw).unwrap_or(Members(Vec::new()));
    reference.set(key, quoted(about.key()));
    let mut members = own_members(ctx)?;
    members.set("ref", reference.to_string());
    forward(ctx, server, members, about).await
}

/// Handles `resources/subscribe` and `resources/unsubscribe` of legacy clients.
pub(crate) async fn subscribe(ctx: &RequestContext<'_>, watch: bool) -> HandlerResult {
    let Some(uri) = ctx.params.uri.as_deref() else {
        return Err(RequestError::invalid("`uri` is missing"));
    };
    let (server, own) = resource(ctx, uri).map_err(|error| missing(ctx, uri, error))?;
    let conversation = ctx.conversation;
    let shared = &conversation.shared;
    if watch && conversation.watch_count() >= shared.limits.subscriptions_per_session {
        let most = shared.limits.subscriptions_per_session;
        let why = format!("at most {most} resources can be watched at once");
        return Err(RequestError::invalid(why));
    }
    shared
        .hub
        .watch_resource(&conversation.session, &server, &own, watch)
        .await?;
    conversation.watch(uri, watch);
    Ok(Bytes::from_static(b"{}"))
}

/// Resolves a URI to its server and the server's own URI.
pub(crate) fn resource(ctx: &RequestContext<'_>, uri: &str) -> ToolResult<ResourceLocation> {
    match ctx.view.profile.sole_server() {
        Some(server) => Ok((server, uri.to_owned())),
        None => {
            let error = match ctx.surface().catalog.find_resource(uri) {
                Ok((entry, own)) => return Ok((entry.spec.name.clone(), own)),
                Err(error) => error,
            };
            // A server may have linked it in an earlier result of this session.
            let conversation = ctx.conversation;
            let hub = &conversation.shared.hub;
            let linked = hub.linked_server(&conversation.session, uri);
            match linked.filter(|server| ctx.view.profile.holds(server)) {
                Some(server) => Ok((server, uri.to_owned())),
                None => Err(error),
            }
        }
    }
}

/// Watches a resource until dropped.
pub(crate) struct ResourceWatch {
    shared: Arc<Shared>,
    watcher: SessionId,
    place: Option<ResourceLocation>,
}

impl ResourceWatch {
    /// Starts to watch a resource. Several requests of a client may watch the same resource and end independently, so each
    /// one is a separate watcher.
    pub(crate) async fn begin(
        ctx: &RequestContext<'_>,
        server: ServerName,
        uri: String,
    ) -> ToolResult<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        let (shared, session) = (&ctx.conversation.shared, &ctx.conversation.session.0);
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

impl Drop for ResourceWatch {
    fn drop(&mut self) {
        let (shared, watcher) = (self.shared.clone(), self.watcher.clone());
        if let Some((server, uri)) = self.place.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let ending = shared.hub.watch_resource(&watcher, &server, &uri, false);
                // A stopped server has no watches.
                let _ = ending.await;
            });
        }
    }
}

/// Forwards a request under the server's own name or URI for its subject.
async fn forward_as(
    ctx: &RequestContext<'_>,
    server: ServerName,
    key: &'static str,
    about: OfferRef,
) -> HandlerResult {
    let mut members = own_members(ctx)?;
    members.set(key, quoted(about.key()));
    forward(ctx, server, members, about).await
}

async fn forward(
    ctx: &RequestContext<'_>,
    server: ServerName,
    members: Members<'_>,
    about: OfferRef,
) -> HandlerResult {
    let meta = forwarded_meta(ctx);
    let (session, method) = (ctx.conversation.session.clone(), ctx.message.method());
    let mut request = ForwardRequest::new(session, server, method, about, members.inner());
    request.span = ctx.parent_span(meta.as_ref());
    request.meta = meta;
    request.client = ctx.client();
    forward_request(ctx, request).await
}

/// The members of `params` to forward. Duplicate keys are ambiguous and refused.
fn own_members<'a>(ctx: &RequestContext<'a>) -> Result<Members<'a>, RequestError> {
    if has_duplicate_key(ctx.message.payload()) {
        return Err(RequestError::invalid("`params` has a duplicate key"));
    }
    let mut members = Members::of(ctx.message.payload()).unwrap_or(Members(Vec::new()));
    for key in ["_meta", "inputResponses", "requestState"] {
        members.remove(key);
    }
    Ok(members)
}

/// The error for an unknown resource, with the code of the client's revision.
fn missing(ctx: &RequestContext<'_>, uri: &str, error: ToolError) -> RequestError {
    if error.code != ErrorClass::InvalidInput {
        return error.into();
    }
    named(ctx, uri, error.into())
}

/// Adds the code and URI of an unknown resource to an error. A server's own error stays unchanged.
fn named(ctx: &RequestContext<'_>, uri: &str, mut fault: RequestError) -> RequestError {
    let mut data = fault.error.data.as_deref().and_then(Members::of);
    let is_ours = |data: &Members<'_>| {
        data.get("reason") == Some(r#""RESOURCE_UNKNOWN""#)
            || data.get("reason") == Some(r#""SERVER_UNKNOWN""#)
    };
    if fault.error.code != code::INVALID_PARAMS || !data.as_ref().is_some_and(is_ours) {
        return fault;
    }
    if !ctx.is_modern {
        fault.error.code = code::LEGACY_RESOURCE_NOT_FOUND;
    }
    if let Some(data) = &mut data {
        data.set("uri", quoted(uri));
    }
    let data = data.map(|data| data.to_string());
    fault.error.data = data.or(fault.error.data);
    fault
}
