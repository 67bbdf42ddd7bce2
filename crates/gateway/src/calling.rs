//! `tools/call`: by a tool's own name, or through the meta tools.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use memchr::memmem::Finder;
use pegboard_guard::coerce_arguments;
use pegboard_hub::CallRequest;
use pegboard_model::{DiscoveryStatus, Era, Policy, Reason, ToolError, ToolRef, ToolResult};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::dispatch::{Answered, Asked, Fault};
use crate::gateway::Shared;
use crate::members::Members;
use crate::rounds::{Failure, Progress, Target, run, tagged};
use crate::surface::Surface;
use crate::{heavy, meta_run, meta_tools};

/// Errors of servers that are for the client's program rather than for its model: input by url, and a missing
/// capability.
const CLIENT_CODES: [i64; 2] = [-32042, -32021];

/// Made once, because making one costs more than looking through a usual definition.
static OUTPUT_SCHEMA: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"outputSchema\""));

/// How a tool came to be called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// By its own name in `tools/call`.
    Name,
    /// Through `call_tool`: the model reads whatever comes back.
    MetaTool,
    /// Through `call_readonly_tool`: the same for tools that are marked read-only.
    ReadOnlyMetaTool,
}

/// Answers `tools/call`.
pub(crate) async fn call(asked: &Asked<'_>) -> Answered {
    let Some(name) = asked.params.name.as_deref() else {
        return Err(Fault::invalid("`name` is missing"));
    };
    let is_ours = asked.view.profile.has_meta_tools() && meta_tools::is_meta_tool(name);
    if is_ours && asked.surface().catalog.static_tool(name).is_none() {
        return meta_run::run(asked, name).await;
    }
    let arguments = match asked.params.arguments.map(coerce_arguments).transpose() {
        Ok(arguments) => arguments.unwrap_or_else(no_arguments),
        Err(error) => return Ok(asked.refused(&error.at_tool(name))),
    };
    execute(asked, name, arguments, By::Name).await
}

/// Calls a tool and gives its result as it goes to the client.
pub(crate) async fn execute(
    asked: &Asked<'_>,
    written: &str,
    arguments: Box<RawValue>,
    by: By,
) -> Answered {
    let found = match find(asked, written).await {
        Ok(found) => found,
        Err(error) => return failed(asked, error, by),
    };
    let shared = &asked.conversation.shared;
    let tool = found.tool.clone();
    let meta = forwarded_meta(asked);
    let target = Target::Tool(CallRequest {
        span: asked.above(meta.as_ref()),
        meta,
        // Only a person who is asked wants to know.
        client: (found.needs_consent).then(|| asked.client()).flatten(),
        read_only: by == By::ReadOnlyMetaTool,
        is_lasting: !found.needs_consent || !asked.is_modern || asked.conversation.is_attached(),
        ..CallRequest::new(asked.conversation.session.clone(), found.tool, arguments)
    });
    match run(asked, target).await {
        Ok(Progress::Wants(result)) => Ok(result.into()),
        Ok(Progress::Done(outcome)) => {
            let era = found.era.or_else(|| era_of(asked, &tool));
            // A client checks a listed tool's structured content, so that must stay whole.
            let may_shorten = by != By::Name || !found.has_output_schema;
            let is_aside = asked.view.profile.has_meta_tools() && may_shorten;
            let result = match is_aside {
                true => match within_limit(shared, outcome.result).await {
                    Ok(result) => result,
                    Err(error) => return failed(asked, error, by),
                },
                false => outcome.result,
            };
            Ok(tagged(asked, result, era == Some(Era::Legacy), false))
        }
        Err(Failure::Tool(error)) => failed(asked, within_profile(asked, &tool, *error), by),
        Err(Failure::Fault(fault)) => Err(fault),
    }
}

/// A result, or its first part when it is larger than allowed.
async fn within_limit(shared: &Arc<Shared>, result: Box<RawValue>) -> ToolResult<Box<RawValue>> {
    let is_heavy = result.get().len() > heavy::LIGHT_BYTES;
    let shared = shared.clone();
    let shorten = move || {
        let shortened = shared.result_store.shorten(&result, shared.result_tokens);
        shortened.unwrap_or(result)
    };
    heavy::run(is_heavy, shorten).await
}

/// A tool as the catalog knows it.
struct Found {
    tool: String,
    era: Option<Era>,
    has_output_schema: bool,
    /// Whether a person may have to be asked.
    needs_consent: bool,
}

/// Finds what is meant within the profile. What may belong to a server that was never seen is left to the hub,
/// which asks that server.
async fn find(asked: &Asked<'_>, written: &str) -> ToolResult<Found> {
    let profile = &asked.view.profile;
    let qualified;
    let written = match profile.sole_server() {
        Some(server) => {
            qualified = format!("{server}/{written}");
            &qualified
        }
        None => written,
    };
    let error = match found_in(asked.surface(), written) {
        Ok(found) => return Ok(found),
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
        return Ok(Found {
            tool: written.to_owned(),
            era: None,
            has_output_schema: false,
            needs_consent: true,
        });
    }
    let hub = &asked.conversation.shared.hub;
    hub.ensure_known_in_span(asked.span()).await;
    found_in(&asked.view.surface(hub), written)
}

fn found_in(surface: &Surface, written: &str) -> ToolResult<Found> {
    let view = surface.catalog.find(written)?;
    Ok(Found {
        tool: view.exposed().to_string(),
        era: view.entry().and_then(|entry| entry.record.era),
        has_output_schema: OUTPUT_SCHEMA.find(view.definition().as_bytes()).is_some(),
        needs_consent: view.policy() != Policy::Allow || view.asks_if_possible(),
    })
}

/// What the hub says of an unknown tool may name tools of servers that are not in the profile.
fn within_profile(asked: &Asked<'_>, tool: &str, error: ToolError) -> ToolError {
    if error.reason != Reason::ToolUnknown || asked.view.profile.holds_all() {
        return error;
    }
    let surface = asked.view.surface(&asked.conversation.shared.hub);
    found_in(&surface, tool).err().unwrap_or(error)
}

fn era_of(asked: &Asked<'_>, tool: &str) -> Option<Era> {
    let catalog = asked.conversation.shared.hub.catalog();
    catalog.find(tool).ok()?.entry()?.record.era
}

/// A failure as the caller should get it: an unknown name is a protocol error, a server's own protocol error is
/// passed on, and everything else is a result that the model can read.
fn failed(asked: &Asked<'_>, error: ToolError, by: By) -> Answered {
    let is_for_client = error
        .rpc
        .as_ref()
        .is_some_and(|rpc| CLIENT_CODES.contains(&rpc.code));
    if is_for_client || (by == By::Name && error.rpc.is_some()) {
        return Err(error.into());
    }
    let is_unknown = matches!(
        error.reason,
        Reason::ToolUnknown
            | Reason::ToolNameInvalid
            | Reason::ToolAmbiguous
            | Reason::ServerUnknown
    );
    if by == By::Name && is_unknown {
        return Err(error.into());
    }
    Ok(asked.refused(&error))
}

/// An error as a tool's result: words for the model, codes for programs.
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

/// A text as a tool's result.
pub(crate) fn text_result(text: &str) -> Bytes {
    let text = crate::members::quoted(text);
    format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":{text}}}]}}"#).into()
}

/// What travels on in `_meta`: everything but what is between the client and us, or us and the server.
/// `baggage` may hold anything and stays here.
pub(crate) fn forwarded_meta(asked: &Asked<'_>) -> Option<Map<String, Value>> {
    const LEVEL: &str = "io.modelcontextprotocol/logLevel";
    let mut map = Map::new();
    let members = asked.params.meta.and_then(|meta| Members::of(meta.get()));
    for (key, value) in members.into_iter().flat_map(|members| members.0) {
        let is_ours = key == "progressToken" || key == "baggage";
        if !is_ours
            && !key.starts_with("io.modelcontextprotocol/")
            && let Ok(value) = serde_json::from_str(&value)
        {
            map.insert(key.into_owned(), value);
        }
    }
    let level = match asked.is_modern {
        true => asked.meta.level.as_deref(),
        false => {
            let legacy = asked.conversation.legacy.get();
            legacy
                .and_then(|legacy| legacy.level())
                .map(|level| level.as_str())
        }
    };
    if let Some(level) = level {
        map.insert(LEVEL.to_owned(), level.into());
    }
    if let Some(span) = asked.span() {
        span.inject(&mut map);
    }
    (!map.is_empty()).then_some(map)
}

/// The lists to answer with. Only a profile whose lists follow the servers waits, and only for servers that were
/// never tried: the answer's deadline bounds it.
pub(crate) async fn settled(asked: &Asked<'_>) -> Arc<Surface> {
    let profile = &asked.view.profile;
    let unseen = |surface: &Surface| {
        surface.catalog.servers().any(|entry| {
            let is_untried = matches!(entry.record.status, DiscoveryStatus::Never);
            entry.is_offered() && entry.needs_discovery() && is_untried
        })
    };
    if !profile.lists_servers() || !unseen(asked.surface()) {
        return asked.surface().clone();
    }
    let hub = &asked.conversation.shared.hub;
    hub.ensure_known_in_span(asked.span()).await;
    asked.view.surface(hub)
}

fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}
