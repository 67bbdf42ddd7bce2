//! What the meta tools do.

use pegboard_catalog::meta::{
    CallToolArgs, DescribeToolsArgs, ListToolsArgs, SearchToolsArgs, parse_args,
};
use pegboard_catalog::search_text;
use pegboard_model::ToolResult;
use pegboard_shelf::{ReadResultArgs, read};
use serde_json::value::RawValue;

use crate::calling::{By, execute, text_result};
use crate::dispatch::{Answered, Asked};
use crate::heavy;
use crate::meta_tools::{DESCRIBE, LIST, READ_RESULT, SEARCH, is_call_tool, is_meta_tool};
use crate::surface::Surface;

/// A catalog of more tools, or one that is searched by meaning, is searched on another thread, so that other
/// clients do not wait for it.
const SEARCHED_AT_ONCE: usize = 500;

/// Runs one of them. Mistakes of the model come back as results that it can read.
pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answered {
    match is_call_tool(name) {
        true => call_tool(asked, name).await,
        false => look(asked, name, asked.params.arguments).await,
    }
}

/// Runs one of those that only read.
async fn look(asked: &Asked<'_>, name: &str, arguments: Option<&RawValue>) -> Answered {
    let answer = match name {
        SEARCH => search(asked, arguments).await,
        LIST => list(asked, arguments).await,
        DESCRIBE => describe(asked, arguments).await,
        _ => match parse_args(READ_RESULT, arguments) {
            Ok(args) => read_result(asked, args).await,
            Err(error) => Err(error),
        },
    };
    Ok(match answer {
        Ok(text) => text_result(&text),
        Err(error) => asked.refused(&error),
    })
}

async fn search(asked: &Asked<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let mut args: SearchToolsArgs = parse_args(SEARCH, arguments)?;
    let (queries, detail, limit) = (args.queries()?, args.detail()?, args.limit());
    let surface = known(asked).await;
    let tools: usize = (surface.catalog.servers())
        .map(|entry| entry.record.tools.len())
        .sum();
    let conversation = &asked.conversation;
    let hub = &conversation.shared.hub;
    hub.load_vectors_once().await;
    let finder = hub.finder(Some(conversation.session.clone()));
    let finder = finder.below(asked.span().cloned());
    let is_heavy = tools > SEARCHED_AT_ONCE || hub.has_encoder();
    let search = move || {
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        search_text(&surface.catalog, &finder, &queries, limit, detail)
    };
    heavy::run(is_heavy, search).await
}

/// Reads on in a result that was kept aside; whatever is kept is large.
async fn read_result(asked: &Asked<'_>, args: ReadResultArgs) -> ToolResult<String> {
    let kept = asked.conversation.shared.result_store.find(&args.id)?;
    heavy::run(true, move || read(&kept, &args)).await?
}

async fn list(asked: &Asked<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let args: ListToolsArgs = parse_args(LIST, arguments)?;
    args.answer(&known(asked).await.catalog)
}

async fn describe(asked: &Asked<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let mut args: DescribeToolsArgs = parse_args(DESCRIBE, arguments)?;
    let names = args.names()?;
    let mut surface = asked.surface().clone();
    if names.iter().any(|name| surface.catalog.find(name).is_err()) {
        surface = known(asked).await;
    }
    args.answer(&names, &surface.catalog)
}

/// Runs `call_tool` or its read-only twin.
async fn call_tool(asked: &Asked<'_>, meta_tool: &str) -> Answered {
    let args = match CallToolArgs::read(meta_tool, asked.params.arguments) {
        Ok(args) => args,
        Err(error) => return Ok(asked.refused(&error)),
    };
    let by = match args.read_only {
        true => By::ReadOnlyMetaTool,
        false => By::MetaTool,
    };
    let (name, arguments) = (args.tool_name.as_str(), args.arguments);
    // Reserved names are Pegboard's own before any server's; a tool of the host program is its own, too.
    let is_reserved = is_meta_tool(name) && asked.surface().catalog.static_tool(name).is_none();
    if is_reserved && !is_call_tool(name) {
        return look(asked, name, Some(&arguments)).await;
    }
    execute(asked, name, arguments, by).await
}

/// The lists with everything that can be known within the answer's deadline.
async fn known(asked: &Asked<'_>) -> std::sync::Arc<Surface> {
    let hub = &asked.conversation.shared.hub;
    hub.ensure_known_in_span(asked.span()).await;
    hub.refresh_stale_in_background();
    asked.view.surface(hub)
}
