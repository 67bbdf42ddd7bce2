//! `tools/call`: by a tool's own name, or through the meta tools.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use bytes::Bytes;
use memchr::memmem::Finder;
use pegboard_catalog::ToolView;
use pegboard_guard::coerce_arguments;
use pegboard_hub::{CallRequest, ToolTarget};
use pegboard_jsonrpc::{code, meta, quoted};
use pegboard_model::{DiscoveryStatus, Era, Policy, Reason, ToolError, ToolRef, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::adapt_result::adapt_result;
use crate::dispatch::{HandlerResult, RequestContext, RequestError};
use crate::gateway::Shared;
use crate::input_rounds::{ForwardError, RoundOutcome, ToolCall, UpstreamRequest, run};
use crate::surface::Surface;
use crate::{meta_run, meta_tools, offload};

/// Server errors that the client program handles itself, so that the model must not get them as a result.
const CLIENT_CODES: [i64; 2] = [code::URL_ELICITATION_REQUIRED, code::MISSING_CAPABILITY];

/// Created once, because that costs more than searching a typical definition.
static OUTPUT_SCHEMA: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"outputSchema\""));

/// How a tool is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallOrigin {
    /// By its own name in `tools/call`.
    Name,
    /// Through `call_tool`: the model reads the result or error.
    MetaTool,
    /// Through `call_readonly_tool`, which only runs tools annotated as read-only.
    ReadOnlyMetaTool,
}

/// Handles `tools/call`.
pub(crate) async fn call(ctx: &RequestContext<'_>) -> HandlerResult {
    let Some(name) = ctx.params.name.as_deref() else {
        return Err(RequestError::invalid("`name` is missing"));
    };
    let is_ours = ctx.view.profile.has_meta_tools() && meta_tools::is_meta_tool(name);
    if is_ours && ctx.surface().catalog.static_tool(name).is_none() {
        return meta_run::run(ctx, name).await;
    }
    let arguments = match ctx.params.arguments.map(coerce_arguments).transpose() {
        Ok(arguments) => arguments.unwrap_or_else(no_arguments),
        Err(error) => return Ok(ctx.refused(&error.at_tool(name))),
    };
    execute(ctx, name, arguments, CallOrigin::Name).await
}

/// Calls a tool and returns its result in the form that the client expects.
pub(crate) async fn execute(
    ctx: &RequestContext<'_>,
    written: &str,
    arguments: Box<RawValue>,
    by: CallOrigin,
) -> HandlerResult {
    let target = match resolve(ctx, written, by).await {
        Ok(target) => target,
        Err(error) => return failed(ctx, error, by),
    };
    let shared = &ctx.conversation.shared;
    let tool = target.tool.as_str().to_owned();
    let meta = forwarded_meta(ctx);
    let session = ctx.conversation.session.clone();
    let mut call = CallRequest::new(session, target.tool, arguments);
    call.span = ctx.parent_span(meta.as_ref());
    call.meta = meta;
    call.client = ctx.client();
    call.read_only = by == CallOrigin::ReadOnlyMetaTool;
    call.is_lasting = !target.needs_approval || !ctx.is_modern || ctx.conversation.is_attached();
    let request = UpstreamRequest::Tool(ToolCall {
        request: call,
        may_request_input: target.needs_approval || target.era != Some(Era::Modern),
    });
    match run(ctx, request).await {
        Ok(RoundOutcome::InputRequired(result)) => Ok(result.into()),
        Ok(RoundOutcome::Done(outcome)) => {
            let era = target.era.or_else(|| era_of(ctx, &tool));
            // Clients validate the structured content of listed tools, so it must stay complete.
            let may_shorten = by != CallOrigin::Name || !target.has_output_schema;
            let is_aside = ctx.view.profile.has_meta_tools() && may_shorten;
            let result = match is_aside {
                true => match within_limit(shared, outcome.result).await {
                    Ok(result) => result,
                    Err(error) => return failed(ctx, error, by),
                },
                false => outcome.result,
            };
            Ok(adapt_result(ctx, result, era == Some(Era::Legacy), false))
        }
        Err(ForwardError::Tool(error)) => failed(ctx, within_profile(ctx, &tool, error), by),
        Err(ForwardError::Request(error)) => Err(error),
    }
}

/// Returns a result, or stores it and returns its first part if it is too large.
async fn within_limit(shared: &Arc<Shared>, result: Box<RawValue>) -> ToolResult<Box<RawValue>> {
    let is_heavy = result.get().len() > offload::INLINE_BYTES;
    let shared = shared.clone();
    let shorten = move || {
        let shortened = shared
            .result_store
            .shorten(&result, shared.result_tokens, Instant::now());
        shortened.unwrap_or(result)
    };
    offload::run(is_heavy, shorten).await
}

/// The tool of a call, with what the gateway needs to know about it.
struct CallTarget {
    tool: ToolTarget,
    era: Option<Era>,
    has_output_schema: bool,
    /// Whether the call may need an approval.
    needs_approval: bool,
}

impl CallTarget {
    fn of(view: &ToolView<'_>) -> Self {
        Self {
            tool: view.resolved().into(),
            era: view.entry().and_then(|entry| entry.record.era),
            has_output_schema: OUTPUT_SCHEMA.find(view.definition().as_bytes()).is_some(),
            needs_approval: view.policy() != Policy::Allow || view.asks_if_possible(),
        }
    }
}

/// Resolves a name within the profile, unless the check of the headers already did. A name that may belong to an
/// undiscovered server is left to the hub, which discovers that server.
async fn resolve(
    ctx: &RequestContext<'_>,
    written: &str,
    by: CallOrigin,
) -> ToolResult<CallTarget> {
    if let Some(tool) = ctx.message.tool().filter(|_| by == CallOrigin::Name) {
        return Ok(CallTarget::of(&ctx.surface().catalog.current(tool)?));
    }
    let profile = &ctx.view.profile;
    let written = profile.qualified(written);
    let error = match ctx.surface().catalog.find(&written) {
        Ok(view) => return Ok(CallTarget::of(&view)),
        Err(error) => error,
    };
    if error.reason != Reason::ToolUnknown {
        return Err(error);
    }
    let is_ours = match ToolRef::parse(written.trim()) {
        Some(ToolRef::Qualified { server, .. }) => profile.holds(&server),
        _ => false,
    };
    if is_ours || profile.holds_all() {
        return Ok(CallTarget {
            tool: written.into_owned().into(),
            era: None,
            has_output_schema: false,
            needs_approval: true,
        });
    }
    let hub = &ctx.conversation.shared.hub;
    hub.ensure_known_in_span(ctx.span()).await;
    let surface = ctx.view.surface(hub);
    surface
        .catalog
        .find(&written)
        .map(|view| CallTarget::of(&view))
}

/// Replaces the hub's error for an unknown tool, which may suggest tools outside the profile.
fn within_profile(ctx: &RequestContext<'_>, tool: &str, error: ToolError) -> ToolError {
    if error.reason != Reason::ToolUnknown || ctx.view.profile.holds_all() {
        return error;
    }
    let surface = ctx.view.surface(&ctx.conversation.shared.hub);
    surface.catalog.find(tool).err().unwrap_or(error)
}

fn era_of(ctx: &RequestContext<'_>, tool: &str) -> Option<Era> {
    let catalog = ctx.conversation.shared.hub.catalog();
    catalog.find(tool).ok()?.entry()?.record.era
}

/// Converts a failure: unknown names and the server's own protocol errors become protocol errors, everything else a
/// result that the model can read.
fn failed(ctx: &RequestContext<'_>, error: ToolError, by: CallOrigin) -> HandlerResult {
    let is_for_client = error
        .rpc
        .as_ref()
        .is_some_and(|rpc| CLIENT_CODES.contains(&rpc.code));
    if is_for_client || (by == CallOrigin::Name && error.rpc.is_some()) {
        return Err(error.into());
    }
    let is_unknown = matches!(
        error.reason,
        Reason::ToolUnknown
            | Reason::ToolNameInvalid
            | Reason::ToolAmbiguous
            | Reason::ServerUnknown
    );
    if by == CallOrigin::Name && is_unknown {
        return Err(error.into());
    }
    Ok(ctx.refused(&error))
}

/// An error as a tool result: text for the model, structured content for programs.
pub(crate) fn error_result(error: &ToolError) -> Bytes {
    let text = error.model_message();
    let result = json!({
        "resultType": "complete",
        "content": [{"type": "text", "text": text}],
        "structuredContent": error.with_model_remedy(),
        "isError": true,
    });
    result.to_string().into()
}

/// A text as a tool result.
pub(crate) fn text_result(text: &str) -> Bytes {
    let text = quoted(text);
    format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":{text}}}]}}"#).into()
}

/// The members of `_meta` to forward, with the client's log level and our span.
pub(crate) fn forwarded_meta(ctx: &RequestContext<'_>) -> Option<Map<String, Value>> {
    let mut map = ctx.meta.forwarded.clone();
    let level = match ctx.is_modern {
        true => ctx.meta.level.as_deref(),
        false => {
            let legacy = ctx.conversation.legacy.get();
            legacy
                .and_then(|legacy| legacy.level())
                .map(|level| level.as_str())
        }
    };
    if let Some(level) = level {
        map.insert(meta::LOG_LEVEL.to_owned(), level.into());
    }
    if let Some(span) = ctx.span() {
        span.inject(&mut map);
    }
    (!map.is_empty()).then_some(map)
}

/// The surface for a list response. If the lists depend on servers that were never discovered, waits for them up to the
/// discovery deadline.
pub(crate) async fn discovered_surface(ctx: &RequestContext<'_>) -> Arc<Surface> {
    let profile = &ctx.view.profile;
    let unseen = |surface: &Surface| {
        surface.catalog.servers().any(|entry| {
            let is_untried = matches!(entry.record.status, DiscoveryStatus::Never);
            entry.is_offered() && entry.needs_discovery() && is_untried
        })
    };
    if !profile.lists_servers() || !unseen(ctx.surface()) {
        return ctx.surface().clone();
    }
    let hub = &ctx.conversation.shared.hub;
    hub.ensure_known_in_span(ctx.span()).await;
    ctx.view.surface(hub)
}

fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}
