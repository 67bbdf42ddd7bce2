//! Routes requests of both protocol eras to their handlers.

use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use pegboard_hub::ClientCapabilities;
use pegboard_jsonrpc::revision;
use pegboard_model::{RpcError, ToolError};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::caller::{ClientCaller, ClientChannel, InputDelivery};
use crate::conversation::{Conversation, MessageSink};
use crate::level::Level;
use crate::message::{Message, Meta, Params};
use crate::notification_limiter::NotificationLimiter;
use crate::response::{Response, code, rpc};
use crate::surface::Surface;
use crate::view::View;
use crate::{calling, client_registry, listen, offers, spans};

/// Maximum length of a client's name and version, in characters.
const CLIENT_NAME_CHARS: usize = 100;

/// A JSON-RPC error with its HTTP status.
pub(crate) struct RequestError {
    pub(crate) status: u16,
    pub(crate) error: RpcError,
}

impl RequestError {
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        rpc(code::INVALID_PARAMS, why).into()
    }
}

impl From<RpcError> for RequestError {
    fn from(error: RpcError) -> Self {
        Self { status: 200, error }
    }
}

/// Converts our error to a protocol error. Our own codes are in `data`.
impl From<ToolError> for RequestError {
    fn from(mut error: ToolError) -> Self {
        if let Some(rpc) = error.rpc.take() {
            return rpc.into();
        }
        let code = match error.code {
            pegboard_model::ErrorClass::InvalidInput => code::INVALID_PARAMS,
            _ => code::INTERNAL_ERROR,
        };
        let error = error.with_model_remedy();
        let data = serde_json::to_string(&error).ok();
        let message = error.full_message();
        RpcError {
            code,
            message,
            data,
        }
        .into()
    }
}

/// The JSON text of a result, or an error.
pub(crate) type HandlerResult = Result<Bytes, RequestError>;

/// A request with everything its handler needs.
pub(crate) struct RequestContext<'a> {
    pub(crate) conversation: &'a Arc<Conversation>,
    pub(crate) message: &'a Message,
    pub(crate) id: &'a RawValue,
    pub(crate) sink: &'a Arc<dyn MessageSink>,
    pub(crate) params: &'a Params<'a>,
    pub(crate) meta: &'a Meta<'a>,
    pub(crate) is_modern: bool,
    pub(crate) view: Arc<View>,
    pub(crate) request_span: Option<spans::RequestSpan>,
    /// Set if Pegboard itself produced the error result. Empty if the tool ran and failed.
    pub(crate) failure: OnceLock<ToolError>,
    surface: OnceLock<Arc<Surface>>,
}

impl<'a> RequestContext<'a> {
    pub(crate) fn new(
        conversation: &'a Arc<Conversation>,
        message: &'a Message,
        id: &'a RawValue,
        sink: &'a Arc<dyn MessageSink>,
    ) -> Result<Self, Response> {
        let refused = |status, error: &RpcError| Response::error(Some(id), status, error);
        let invalid = |why: &str| refused(400, &rpc(code::INVALID_PARAMS, why));
        let (params, meta) = (message.params(), message.meta());
        if let Some(version) = &meta.version {
            if version != revision::MODERN {
                return Err(refused(400, &unsupported(version)));
            }
            if meta
                .capabilities
                .is_none_or(|raw| !raw.get().starts_with('{'))
            {
                let why = "`_meta` must contain `io.modelcontextprotocol/clientCapabilities`";
                return Err(invalid(why));
            }
        }
        let is_modern = meta.version.is_some();
        let is_first = message.method() == "initialize" || message.method() == "ping";
        if !is_modern && !is_first && conversation.legacy.get().is_none() {
            let why = "send `initialize` first, or name the revision in `_meta` as \
                       `io.modelcontextprotocol/protocolVersion`";
            return Err(invalid(why));
        }
        let shared = &conversation.shared;
        let view = shared.view(&conversation.profile).ok_or_else(|| {
            let why = format!("the profile `{}` no longer exists", conversation.profile);
            refused(404, &rpc(code::INVALID_REQUEST, why))
        })?;
        let recorder = shared.hub.recorder().as_ref();
        let request_span = spans::start(recorder, message, &conversation.session.0);
        Ok(Self {
            conversation,
            message,
            id,
            sink,
            params,
            meta,
            is_modern,
            view,
            request_span,
            failure: OnceLock::new(),
            surface: OnceLock::new(),
        })
    }

    /// The profile's surface. The snapshot is chosen at the first use and stays the same for the request.
    pub(crate) fn surface(&self) -> &Arc<Surface> {
        let shared = &self.conversation.shared;
        self.surface.get_or_init(|| self.view.surface(&shared.hub))
    }

    /// The surface used for handshakes, which may not need the catalog.
    pub(crate) fn handshake_surface(&self) -> Arc<Surface> {
        self.view.handshake_surface(&self.conversation.shared.hub)
    }

    fn declares(&self, capability: &str) -> bool {
        self.handshake_surface().declares(capability)
    }

    /// The client's name and version, if it sent them.
    pub(crate) fn client(&self) -> Option<Arc<str>> {
        match self.is_modern {
            true => self.meta.client.and_then(client_name),
            false => self.conversation.client.get().cloned(),
        }
    }

    /// Creates the caller through which a server reaches the client.
    pub(crate) fn caller(&self, delivery: InputDelivery) -> ClientCaller {
        let legacy = self.conversation.legacy.get().filter(|_| !self.is_modern);
        let capabilities = match legacy {
            Some(legacy) => legacy.capabilities.clone(),
            None => ClientCapabilities::parse(self.meta.capabilities.map_or("{}", RawValue::get)),
        };
        ClientCaller {
            conversation: self.conversation.clone(),
            capabilities,
            delivery,
            channel: Mutex::new(self.client_channel()),
            limiter: Mutex::new(NotificationLimiter::for_call(
                &self.conversation.shared.limits,
            )),
            is_legacy: !self.is_modern,
        }
    }

    /// The channel to the client for this request.
    pub(crate) fn client_channel(&self) -> ClientChannel {
        let level = if self.is_modern {
            self.meta.level.as_deref().and_then(Level::parse)
        } else {
            let legacy = self.conversation.legacy.get();
            // Legacy clients that set no level expect all messages.
            let chosen = legacy.and_then(|legacy| legacy.level());
            Some(chosen.unwrap_or(Level::Debug))
        };
        ClientChannel {
            sink: self.sink.clone(),
            progress_token: self.meta.progress.map(|token| token.get().into()),
            level,
        }
    }
}

/// Name and version from `clientInfo`, truncated.
pub(crate) fn client_name(info: &RawValue) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Info<'a> {
        #[serde(borrow)]
        name: std::borrow::Cow<'a, str>,
        #[serde(borrow, default)]
        version: Option<std::borrow::Cow<'a, str>>,
    }
    let info: Info<'_> = serde_json::from_str(info.get()).ok()?;
    let whole = format!("{} {}", info.name, info.version.unwrap_or_default());
    let name: String = whole.trim().chars().take(CLIENT_NAME_CHARS).collect();
    Some(name.into())
}

fn unsupported(version: &str) -> RpcError {
    let data = serde_json::json!({"supported": revision::SUPPORTED, "requested": version});
    RpcError {
        code: code::UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_owned(),
        data: Some(data.to_string()),
    }
}

/// Handles a request and records its outcome.
pub(crate) async fn dispatch(ctx: &RequestContext<'_>) -> Response {
    client_registry::record(ctx);
    let result = route(ctx).await;
    ctx.record(&result);
    match result {
        Ok(result) => Response::result(ctx.id, result),
        Err(failure) => {
            // These codes mean a bad request, whether we or the server sent them.
            let is_bad_request = ctx.is_modern && code::is_modern(failure.error.code);
            let status = if is_bad_request { 400 } else { failure.status };
            Response::error(Some(ctx.id), status, &failure.error)
        }
    }
}

/// Runs the handler of a request's method. Some methods exist in one era only.
async fn route(ctx: &RequestContext<'_>) -> HandlerResult {
    let is_legacy = !ctx.is_modern;
    match ctx.message.method() {
        "tools/call" => calling::call(ctx).await,
        "tools/list" => {
            reject_cursor(ctx)?;
            ctx.view.count_list();
            list_tools(ctx).await
        }
        "prompts/list" if ctx.declares("prompts") => {
            reject_cursor(ctx)?;
            Ok(calling::discovered_surface(ctx).await.prompts())
        }
        "prompts/get" if ctx.declares("prompts") => offers::get_prompt(ctx).await,
        "resources/list" if ctx.declares("resources") => {
            reject_cursor(ctx)?;
            Ok(calling::discovered_surface(ctx).await.resources())
        }
        "resources/templates/list" if ctx.declares("resources") => {
            reject_cursor(ctx)?;
            Ok(calling::discovered_surface(ctx).await.templates())
        }
        "resources/read" if ctx.declares("resources") => offers::read_resource(ctx).await,
        "completion/complete" if ctx.declares("completions") => offers::complete(ctx).await,
        "initialize" if is_legacy => initialize(ctx).await,
        "ping" if is_legacy => Ok(Bytes::from_static(b"{}")),
        "logging/setLevel" if is_legacy && ctx.declares("logging") => set_level(ctx),
        "resources/subscribe" if is_legacy => offers::subscribe(ctx, true).await,
        "resources/unsubscribe" if is_legacy => offers::subscribe(ctx, false).await,
        "server/discover" if ctx.is_modern => {
            session_begun(ctx).await;
            // The server behind the profile may have just been discovered.
            let (surface, shared) = (ctx.handshake_surface(), &ctx.conversation.shared);
            let version = &shared.version;
            Ok(surface.discover(version, revision::SUPPORTED).into())
        }
        "subscriptions/listen" if ctx.is_modern => listen::listen(ctx).await,
        _ => Err(unknown_method(ctx)),
    }
}

fn unknown_method(ctx: &RequestContext<'_>) -> RequestError {
    let status = if ctx.is_modern { 404 } else { 200 };
    let error = rpc(code::METHOD_NOT_FOUND, "Method not found");
    RequestError { status, error }
}

/// Rejects cursors: our lists have one page, so every cursor is invalid.
fn reject_cursor(ctx: &RequestContext<'_>) -> Result<(), RequestError> {
    match ctx.params.cursor {
        None => Ok(()),
        Some(_) => Err(RequestError::invalid(
            "unknown cursor; list again without one",
        )),
    }
}

async fn initialize(ctx: &RequestContext<'_>) -> HandlerResult {
    #[derive(Deserialize)]
    struct InitializeParams<'a> {
        #[serde(borrow, default, rename = "protocolVersion")]
        version: Option<std::borrow::Cow<'a, str>>,
        #[serde(borrow, default)]
        capabilities: Option<&'a RawValue>,
        #[serde(borrow, default, rename = "clientInfo")]
        client: Option<&'a RawValue>,
    }
    let params: InitializeParams<'_> = serde_json::from_str(ctx.message.payload())
        .map_err(|error| RequestError::invalid(format!("invalid `initialize` params: {error}")))?;
    let Some(version) = params.version else {
        return Err(RequestError::invalid("`protocolVersion` is missing"));
    };
    let mut legacy_revisions = revision::LEGACY_REVISIONS.iter().copied();
    let revision = legacy_revisions.find(|known| *known == version);
    let revision = revision.unwrap_or(revision::LATEST_LEGACY);
    let declared = params.capabilities.map_or("{}", RawValue::get);
    let conversation = ctx.conversation;
    if let Some(name) = params.client.and_then(client_name) {
        // A second handshake does not change the name.
        let _ = conversation.client.set(name);
    }
    let shared = &conversation.shared;
    shared
        .sessions
        .open(conversation, revision, ClientCapabilities::parse(declared));
    client_registry::record(ctx);
    session_begun(ctx).await;
    let surface = ctx.handshake_surface();
    Ok(surface.initialize(&shared.version, revision).into())
}

/// Discovers undiscovered servers in the background when a client connects. Only a profile that passes through a
/// single server waits, because it reports that server's capabilities as its own.
async fn session_begun(ctx: &RequestContext<'_>) {
    let hub = &ctx.conversation.shared.hub;
    if ctx.view.profile.is_fixed() && !hub.is_catalog_loaded() {
        // The session starts with the first list, or shortly after the program start.
        hub.defer_session_start();
        return;
    }
    hub.session_started();
    let sole = ctx.view.profile.sole_server();
    if let Some(entry) = sole.and_then(|sole| ctx.surface().catalog.server(&sole).cloned())
        && entry.record.capabilities.is_none()
    {
        hub.ensure_known_in_span(ctx.span()).await;
    }
}

/// Handles `tools/list`. A fixed list does not depend on the catalog, which is then loaded after the response.
async fn list_tools(ctx: &RequestContext<'_>) -> HandlerResult {
    let hub = &ctx.conversation.shared.hub;
    if !ctx.view.profile.is_fixed() {
        return Ok(calling::discovered_surface(ctx).await.tools());
    }
    let tools = ctx.handshake_surface().tools();
    if !hub.is_catalog_loaded() {
        let hub = hub.clone();
        tokio::spawn(async move {
            // Let the task that writes the response run first.
            tokio::task::yield_now().await;
            hub.session_started();
        });
    }
    Ok(tools)
}

fn set_level(ctx: &RequestContext<'_>) -> HandlerResult {
    #[derive(Deserialize)]
    struct SetLevelParams<'a> {
        #[serde(borrow)]
        level: std::borrow::Cow<'a, str>,
    }
    let params = serde_json::from_str::<SetLevelParams<'_>>(ctx.message.payload()).ok();
    let level = params.and_then(|params| Level::parse(&params.level));
    match (level, ctx.conversation.legacy.get()) {
        (Some(level), Some(legacy)) => {
            legacy.set_level(level);
            Ok(Bytes::from_static(b"{}"))
        }
        _ => Err(RequestError::invalid(
            "`level` must be one of debug, info, notice, warning, error, critical, alert, emergency",
        )),
    }
}
