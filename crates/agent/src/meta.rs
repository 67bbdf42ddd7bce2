//! The tools that stand for all others, run for the agent's own model.

use std::sync::Arc;

use pegboard_catalog::meta::{
    CALL, CALL_READ_ONLY, CallToolArgs, DESCRIBE, DescribeToolsArgs, LIST, ListToolsArgs,
    READ_RESULT, SEARCH, SearchToolsArgs, invalid_args, is_call_tool, is_meta_tool, parse_args,
};
use pegboard_catalog::{Catalog, ToolSearch, search_text};
use pegboard_hub::{Hub, SessionId};
use pegboard_model::{Reason, SpanContext, ToolError, ToolResult};
use pegboard_shelf::{ReadResultArgs, ResultStore, read};
use serde_json::value::RawValue;

/// A catalog of more tools, or one that is searched by meaning, is searched on another thread.
const SEARCHED_AT_ONCE: usize = 500;

/// What a meta tool leads to.
pub(crate) enum MetaOutcome {
    /// A text for the model.
    Text(String),
    /// A call of another tool.
    Call(CallToolArgs),
}

/// Runs one of them.
pub(crate) async fn run(
    hub: &Hub,
    session: &SessionId,
    result_store: &Arc<ResultStore>,
    name: &str,
    arguments: &RawValue,
    span: Option<&SpanContext>,
) -> ToolResult<MetaOutcome> {
    let given = Some(arguments);
    let told = match name {
        SEARCH => {
            let mut args: SearchToolsArgs = parse_args(SEARCH, given)?;
            let (queries, detail, limit) = (args.queries()?, args.detail()?, args.limit());
            searched(hub, session, span, move |catalog, finder| {
                let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
                search_text(catalog, finder, &queries, limit, detail)
            })
            .await?
        }
        LIST => {
            let args: ListToolsArgs = parse_args(LIST, given)?;
            let catalog = known(hub, span).await;
            args.answer(&catalog)?
        }
        DESCRIBE => {
            let mut args: DescribeToolsArgs = parse_args(DESCRIBE, given)?;
            let names = args.names()?;
            let mut catalog = hub.catalog();
            if names.iter().any(|name| catalog.find(name).is_err()) {
                catalog = known(hub, span).await;
            }
            args.answer(&names, &catalog)?
        }
        CALL | CALL_READ_ONLY => {
            let args = CallToolArgs::read(name, given)?;
            let name = args.tool_name.as_str();
            // Reserved names are Pegboard's own before any server's.
            let is_reserved = is_meta_tool(name) && hub.catalog().static_tool(name).is_none();
            if !is_reserved || is_call_tool(name) {
                return Ok(MetaOutcome::Call(args));
            }
            return Box::pin(run(hub, session, result_store, name, &args.arguments, span)).await;
        }
        _ => read_on(result_store, arguments).await?,
    };
    Ok(MetaOutcome::Text(told))
}

/// Reads on in a result that was kept aside; whatever is kept is large.
async fn read_on(result_store: &Arc<ResultStore>, arguments: &RawValue) -> ToolResult<String> {
    let args: ReadResultArgs =
        serde_json::from_str(arguments.get()).map_err(|error| invalid_args(READ_RESULT, &error))?;
    let kept = result_store.find(&args.id)?;
    aside(move || read(&kept, &args)).await?
}

/// Looks for tools in the catalog as it can be known within the answer's deadline.
pub(crate) async fn searched<T: Send + 'static>(
    hub: &Hub,
    session: &SessionId,
    span: Option<&SpanContext>,
    look: impl FnOnce(&Catalog, &dyn ToolSearch) -> T + Send + 'static,
) -> ToolResult<T> {
    let catalog = known(hub, span).await;
    hub.load_vectors_once().await;
    let finder = hub.finder(Some(session.clone())).below(span.cloned());
    let is_heavy = hub.has_encoder() || catalog.tools().nth(SEARCHED_AT_ONCE).is_some();
    match is_heavy {
        true => aside(move || look(&catalog, &finder)).await,
        false => Ok(look(&catalog, &finder)),
    }
}

async fn known(hub: &Hub, span: Option<&SpanContext>) -> Arc<Catalog> {
    hub.ensure_known_in_span(span).await;
    hub.catalog()
}

/// Does work on another thread that would hold up everything else on this one.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> ToolResult<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ToolError::new(Reason::Internal, format!("the work broke off: {error}")))
}
