//! From a request to the part that answers it, in both eras.

use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use pegboard_model::{RpcError, ToolError};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::caller::{ClientCaller, Reach, Way, carried_capabilities};
use crate::conversation::{Conversation, Outlet};
use crate::level::Level;
use crate::message::{Message, Meta, Params, meta};
use crate::relay::Relay;
use crate::response::{Response, code, rpc};
use crate::surface::Surface;
use crate::view::View;
use crate::{calling, listening, offers, presence, spans};

/// The stateless revision.
pub(crate) const MODERN: &str = "2026-07-28";
/// Every revision we speak, the newest first.
const SUPPORTED: [&str; 5] = [
    MODERN,
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];
/// What a client gets that asks for a revision we do not know.
const NEWEST_LEGACY: &str = "2025-11-25";

/// Characters of a client's name for itself that are kept.
const CLIENT_NAME: usize = 100;

/// Codes of the modern revision for a request that does not fit: headers, capabilities, version.
const REFUSALS: std::ops::RangeInclusive<i64> = -32022..=-32020;

/// Why there is no result.
pub(crate) struct Fault {
    pub(crate) status: u16,
    pub(crate) error: RpcError,
}

impl Fault {
    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        rpc(code::INVALID_PARAMS, why).into()
    }
}

impl From<RpcError> for Fault {
    fn from(error: RpcError) -> Self {
        Self { status: 200, error }
    }
}

/// A failure of ours as a protocol error; our own codes travel in `data`.
impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        if let Some(rpc) = error.rpc {
            return (*rpc).into();
        }
        let code = match error.code {
            pegboard_model::ErrorClass::InvalidInput => code::INVALID_PARAMS,
            _ => code::INTERNAL,
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

/// What answering a request gives.
pub(crate) type Answered = Result<Bytes, Fault>;

/// A request with all that answering it needs.
pub(crate) struct Asked<'a> {
    pub(crate) conversation: &'a Arc<Conversation>,
    pub(crate) message: &'a Message,
    pub(crate) id: &'a RawValue,
    pub(crate) outlet: &'a Arc<dyn Outlet>,
    pub(crate) params: Params<'a>,
    pub(crate) meta: Meta<'a>,
    pub(crate) is_modern: bool,
    pub(crate) view: Arc<View>,
    pub(crate) open: Option<spans::Open>,
    /// Why Pegboard itself answered with an error result; a tool that ran and failed leaves it empty.
    pub(crate) failure: OnceLock<ToolError>,
    surface: OnceLock<Arc<Surface>>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        conversation: &'a Arc<Conversation>,
        message: &'a Message,
        id: &'a RawValue,
        outlet: &'a Arc<dyn Outlet>,
    ) -> Result<Self, Response> {
        let refused = |status, error: &RpcError| Response::error(Some(id), status, error);
        let invalid = |why: &str| refused(400, &rpc(code::INVALID_PARAMS, why));
        let read = message.params().and_then(|params| {
            let meta = meta(&params)?;
            Ok((params, meta))
        });
        let (params, meta) = read.map_err(|error| invalid(&error.to_string()))?;
        if let Some(version) = &meta.version {
            if version != MODERN {
                return Err(refused(400, &unsupported(version)));
            }
            if meta
                .capabilities
                .is_none_or(|raw| !raw.get().starts_with('{'))
            {
                let why = "`_meta` must hold `io.modelcontextprotocol/clientCapabilities`";
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
            let why = format!("the profile `{}` is no longer there", conversation.profile);
            refused(404, &rpc(code::INVALID_REQUEST, why))
        })?;
        let recorder = shared.hub.recorder().as_ref();
        let open = spans::open(recorder, message, params.meta, &conversation.session.0);
        Ok(Self {
            conversation,
            message,
            id,
            outlet,
            params,
            meta,
            is_modern,
            view,
            open,
            failure: OnceLock::new(),
            surface: OnceLock::new(),
        })
    }

    /// The lists of the profile, over the snapshot of the moment in which they were first needed.
    pub(crate) fn surface(&self) -> &Arc<Surface> {
        let shared = &self.conversation.shared;
        self.surface.get_or_init(|| self.view.surface(&shared.hub))
    }

    /// What answers a handshake.
    pub(crate) fn outline(&self) -> Arc<Surface> {
        self.view.outline(&self.conversation.shared.hub)
    }

    fn declares(&self, capability: &str) -> bool {
        self.outline().declares(capability)
    }

    /// What the client calls itself, when it says so.
    pub(crate) fn client(&self) -> Option<Arc<str>> {
        match self.is_modern {
            true => self.meta.client.and_then(client_name),
            false => self.conversation.client.get().cloned(),
        }
    }

    /// The client as a server may reach it.
    pub(crate) fn caller(&self, way: Way) -> ClientCaller {
        let legacy = self.conversation.legacy.get();
        let capabilities = if self.is_modern {
            carried_capabilities(self.meta.capabilities.map_or("{}", RawValue::get))
        } else {
            legacy.map_or("{}".into(), |legacy| legacy.capabilities.clone())
        };
        ClientCaller {
            conversation: self.conversation.clone(),
            capabilities,
            way,
            request: Mutex::new(self.reach()),
            relay: Mutex::new(Relay::of_call(&self.conversation.shared.limits)),
            is_legacy: !self.is_modern,
        }
    }

    /// How this very request reaches the client.
    pub(crate) fn reach(&self) -> Reach {
        let level = if self.is_modern {
            self.meta.level.as_deref().and_then(Level::parse)
        } else {
            let legacy = self.conversation.legacy.get();
            // Whoever said nothing gets everything: that is what such clients expect.
            let chosen = legacy.and_then(|legacy| legacy.level());
            Some(chosen.unwrap_or(Level::Debug))
        };
        Reach {
            outlet: self.outlet.clone(),
            progress_token: self.meta.progress.map(|token| token.get().into()),
            level,
        }
    }
}

/// The name and version in what a client says of itself, cut to length.
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
    let name: String = whole.trim().chars().take(CLIENT_NAME).collect();
    Some(name.into())
}

fn unsupported(version: &str) -> RpcError {
    let data = serde_json::json!({"supported": SUPPORTED, "requested": version});
    RpcError {
        code: code::UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_owned(),
        data: Some(data.to_string()),
    }
}

/// Answers a request.
pub(crate) async fn dispatch(asked: &Asked<'_>) -> Response {
    presence::note(asked);
    let answered = if asked.is_modern {
        modern(asked).await
    } else {
        legacy(asked).await
    };
    asked.tell(&answered);
    match answered {
        Ok(result) => Response::result(asked.id, result),
        Err(fault) => {
            // What the modern revision says about the request itself is a bad request, whoever says it.
            let is_refusal = asked.is_modern && REFUSALS.contains(&fault.error.code);
            let status = if is_refusal { 400 } else { fault.status };
            Response::error(Some(asked.id), status, &fault.error)
        }
    }
}

async fn modern(asked: &Asked<'_>) -> Answered {
    match asked.message.method() {
        "server/discover" => {
            begun(asked).await;
            // What it stands for may have become known just now.
            Ok(asked
                .outline()
                .discover(&asked.conversation.shared.version, &SUPPORTED)
                .into())
        }
        "subscriptions/listen" => listening::listen(asked).await,
        _ => both(asked).await,
    }
}

async fn legacy(asked: &Asked<'_>) -> Answered {
    match asked.message.method() {
        "initialize" => initialize(asked).await,
        "ping" => Ok(Bytes::from_static(b"{}")),
        "logging/setLevel" if asked.declares("logging") => set_level(asked),
        "resources/subscribe" => offers::subscribe(asked, true).await,
        "resources/unsubscribe" => offers::subscribe(asked, false).await,
        _ => both(asked).await,
    }
}

async fn both(asked: &Asked<'_>) -> Answered {
    match asked.message.method() {
        "tools/list" => {
            whole_list(asked)?;
            asked.view.count_list();
            list_tools(asked).await
        }
        "tools/call" => calling::call(asked).await,
        "prompts/list" if asked.declares("prompts") => {
            whole_list(asked)?;
            Ok(calling::settled(asked).await.prompts())
        }
        "prompts/get" if asked.declares("prompts") => offers::get_prompt(asked).await,
        "resources/list" if asked.declares("resources") => {
            whole_list(asked)?;
            Ok(calling::settled(asked).await.resources())
        }
        "resources/templates/list" if asked.declares("resources") => {
            whole_list(asked)?;
            Ok(calling::settled(asked).await.templates())
        }
        "resources/read" if asked.declares("resources") => offers::read_resource(asked).await,
        "completion/complete" if asked.declares("completions") => offers::complete(asked).await,
        _ => Err(unknown_method(asked)),
    }
}

fn unknown_method(asked: &Asked<'_>) -> Fault {
    let status = if asked.is_modern { 404 } else { 200 };
    let error = rpc(code::METHOD_NOT_FOUND, "Method not found");
    Fault { status, error }
}

/// Our lists have one page, so no cursor can be ours.
fn whole_list(asked: &Asked<'_>) -> Result<(), Fault> {
    match asked.params.cursor {
        None => Ok(()),
        Some(_) => Err(Fault::invalid(
            "this cursor is not known; list again without one",
        )),
    }
}

async fn initialize(asked: &Asked<'_>) -> Answered {
    #[derive(Deserialize)]
    struct Opening<'a> {
        #[serde(borrow, default, rename = "protocolVersion")]
        version: Option<std::borrow::Cow<'a, str>>,
        #[serde(borrow, default)]
        capabilities: Option<&'a RawValue>,
        #[serde(borrow, default, rename = "clientInfo")]
        client: Option<&'a RawValue>,
    }
    let opening: Opening<'_> = serde_json::from_str(asked.message.payload())
        .map_err(|error| Fault::invalid(format!("`initialize` cannot be read: {error}")))?;
    let Some(version) = opening.version else {
        return Err(Fault::invalid("`protocolVersion` is missing"));
    };
    let legacy_revisions = SUPPORTED.iter().filter(|known| **known != MODERN);
    let revision = legacy_revisions.copied().find(|known| *known == version);
    let revision = revision.unwrap_or(NEWEST_LEGACY);
    let declared = opening.capabilities.map_or("{}", RawValue::get);
    let conversation = asked.conversation;
    if let Some(name) = opening.client.and_then(client_name) {
        // A second handshake changes nothing.
        let _ = conversation.client.set(name);
    }
    let shared = &conversation.shared;
    shared
        .sessions
        .open(conversation, revision, &carried_capabilities(declared));
    presence::note(asked);
    begun(asked).await;
    Ok(asked.outline().initialize(&shared.version, revision).into())
}

/// A client is there: what was never seen is asked for in the background. Only a profile that stands for one
/// server has to know that server before it can say what it is.
async fn begun(asked: &Asked<'_>) {
    let hub = &asked.conversation.shared.hub;
    if asked.view.profile.is_fixed() && !hub.is_catalog_loaded() {
        // The session begins with the first list, or a moment after the start.
        hub.defer_session_start();
        return;
    }
    hub.session_started();
    let sole = asked.view.profile.sole_server();
    if let Some(entry) = sole.and_then(|sole| asked.surface().catalog.server(&sole).cloned())
        && entry.record.capabilities.is_none()
    {
        hub.ensure_known_in_span(asked.span()).await;
    }
}

/// The tools. A fixed list needs nothing of the catalog, so that is read when the answer is on its way.
async fn list_tools(asked: &Asked<'_>) -> Answered {
    let hub = &asked.conversation.shared.hub;
    if !asked.view.profile.is_fixed() {
        return Ok(calling::settled(asked).await.tools());
    }
    let tools = asked.outline().tools();
    if !hub.is_catalog_loaded() {
        let hub = hub.clone();
        tokio::spawn(async move {
            // Behind the task that writes the answer.
            tokio::task::yield_now().await;
            hub.session_started();
        });
    }
    Ok(tools)
}

fn set_level(asked: &Asked<'_>) -> Answered {
    #[derive(Deserialize)]
    struct Wish<'a> {
        #[serde(borrow)]
        level: std::borrow::Cow<'a, str>,
    }
    let wish = serde_json::from_str::<Wish<'_>>(asked.message.payload()).ok();
    let level = wish.and_then(|wish| Level::parse(&wish.level));
    match (level, asked.conversation.legacy.get()) {
        (Some(level), Some(legacy)) => {
            legacy.set_level(level);
            Ok(Bytes::from_static(b"{}"))
        }
        _ => Err(Fault::invalid(
            "`level` must be one of debug, info, notice, warning, error, critical, alert, emergency",
        )),
    }
}
