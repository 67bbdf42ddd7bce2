//! What the meta tools do.

use pegboard_catalog::meta::{
    CallToolArgs, DescribeToolsArgs, ListToolsArgs, SearchToolsArgs, parse_args,
};
use pegboard_catalog::search_text;
use pegboard_model::ToolResult;
use pegboard_shelf::{ReadResultArgs, read};
use serde_json::value::RawValue;

use crate::calling::{CallOrigin, execute, text_result};
use crate::dispatch::{HandlerResult, RequestContext};
use crate::meta_tools::{DESCRIBE, LIST, READ_RESULT, SEARCH, is_call_tool, is_meta_tool};
use crate::offload;
use crate::surface::Surface;

/// A catalog of more tools, or one that is searched by meaning, is searched on another thread, so that other
/// clients do not wait for it.
const SEARCHED_AT_ONCE: usize = 500;

/// Runs one of them. Mistakes of the model come back as results that it can read.
pub(crate) async fn run(ctx: &RequestContext<'_>, name: &str) -> HandlerResult {
    match is_call_tool(name) {
        true => call_tool(ctx, name).await,
        false => look(ctx, name, ctx.params.arguments).await,
    }
}

/// Runs one of those that only read.
async fn look(ctx: &RequestContext<'_>, name: &str, arguments: Option<&RawValue>) -> HandlerResult {
    let answer = match name {
        SEARCH => search(ctx, arguments).await,
        LIST => list(ctx, arguments).await,
        DESCRIBE => describe(ctx, arguments).await,
        _ => match parse_args(READ_RESULT, arguments) {
            Ok(args) => read_result(ctx, args).await,
            Err(error) => Err(error),
        },
    };
    Ok(match answer {
        Ok(text) => text_result(&text),
        Err(error) => ctx.refused(&error),
    })
}

async fn search(ctx: &RequestContext<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let mut args: SearchToolsArgs = parse_args(SEARCH, arguments)?;
    let (queries, detail, limit) = (args.queries()?, args.detail()?, args.limit());
    let surface = known(ctx).await;
    let tools: usize = (surface.catalog.servers())
        .map(|entry| entry.record.tools.len())
        .sum();
    let conversation = &ctx.conversation;
    let hub = &conversation.shared.hub;
    hub.load_vectors_once().await;
    let finder = hub.finder(Some(conversation.session.clone()));
    let finder = finder.below(ctx.span().cloned());
    let is_heavy = tools > SEARCHED_AT_ONCE || hub.has_encoder();
    let search = move || {
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        search_text(&surface.catalog, &finder, &queries, limit, detail)
    };
    offload::run(is_heavy, search).await
}

/// Reads on in a result that was kept aside; whatever is kept is large.
async fn read_result(ctx: &RequestContext<'_>, args: ReadResultArgs) -> ToolResult<String> {
    let kept = ctx.conversation.shared.result_store.find(&args.id)?;
    offload::run(true, move || read(&kept, &args)).await?
}

async fn list(ctx: &RequestContext<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let args: ListToolsArgs = parse_args(LIST, arguments)?;
    args.answer(&known(ctx).await.catalog)
}

async fn describe(ctx: &RequestContext<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let mut args: DescribeToolsArgs = parse_args(DESCRIBE, arguments)?;
    let names = args.names()?;
    let mut surface = ctx.surface().clone();
    if names.iter().any(|name| surface.catalog.find(name).is_err()) {
        surface = known(ctx).await;
    }
    args.answer(&names, &surface.catalog)
}

/// Runs `call_tool` or its read-only twin.
async fn call_tool(ctx: &RequestContext<'_>, meta_tool: &str) -> HandlerResult {
    let args = match CallToolArgs::read(meta_tool, ctx.params.arguments) {
        Ok(args) => args,
        Err(error) => return Ok(ctx.refused(&error)),
    };
    let by = match args.read_only {
        true => CallOrigin::ReadOnlyMetaTool,
        false => CallOrigin::MetaTool,
    };
    let (name, arguments) = (args.tool_name.as_str(), args.arguments);
    // Reserved names are Pegboard's own before any server's; a tool of the host program is its own, too.
    let is_reserved = is_meta_tool(name) && ctx.surface().catalog.static_tool(name).is_none();
    if is_reserved && !is_call_tool(name) {
        return look(ctx, name, Some(&arguments)).await;
    }
    execute(ctx, name, arguments, by).await
}

/// The lists with everything that can be known within the answer's deadline.
async fn known(ctx: &RequestContext<'_>) -> std::sync::Arc<Surface> {
    let hub = &ctx.conversation.shared.hub;
    hub.ensure_known_in_span(ctx.span()).await;
    hub.refresh_stale_in_background();
    ctx.view.surface(hub)
}
