//! What the meta tools do.

use pegboard_catalog::meta::{CallWish, DescribeWish, ListWish, SearchWish, wish};
use pegboard_catalog::search_text;
use pegboard_model::ToolResult;
use pegboard_shelf::{ReadWish, read};
use serde_json::value::RawValue;

use crate::calling::{By, execute, text_result};
use crate::dispatch::{Answered, Asked};
use crate::heavy;
use crate::meta_tools::{DESCRIBE, LIST, READ_RESULT, SEARCH, is_call, is_meta_tool};
use crate::surface::Surface;

/// A catalog of more tools, or one that is searched by meaning, is searched on another thread, so that other
/// clients do not wait for it.
const SEARCHED_AT_ONCE: usize = 500;

/// Runs one of them. Mistakes of the model come back as results that it can read.
pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answered {
    match is_call(name) {
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
        _ => match wish(READ_RESULT, arguments) {
            Ok(wish) => read_result(asked, wish).await,
            Err(error) => Err(error),
        },
    };
    Ok(match answer {
        Ok(text) => text_result(&text),
        Err(error) => asked.refused(&error),
    })
}

async fn search(asked: &Asked<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let mut wish: SearchWish = wish(SEARCH, arguments)?;
    let (queries, detail, limit) = (wish.queries()?, wish.detail()?, wish.limit());
    let surface = known(asked).await;
    let tools: usize = (surface.catalog.servers())
        .map(|entry| entry.record.tools.len())
        .sum();
    let conversation = &asked.conversation;
    let hub = &conversation.shared.hub;
    hub.load_meaning().await;
    let finder = hub.finder(Some(conversation.session.clone()));
    let finder = finder.below(asked.span().cloned());
    let is_heavy = tools > SEARCHED_AT_ONCE || hub.knows_meaning();
    let search = move || {
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        search_text(&surface.catalog, &finder, &queries, limit, detail)
    };
    heavy::run(is_heavy, search).await
}

/// Reads on in a result that was kept aside; whatever is kept is large.
async fn read_result(asked: &Asked<'_>, wish: ReadWish) -> ToolResult<String> {
    let kept = asked.conversation.shared.shelf.find(&wish.id)?;
    heavy::run(true, move || read(&kept, &wish)).await?
}

async fn list(asked: &Asked<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let wish: ListWish = wish(LIST, arguments)?;
    wish.answer(&known(asked).await.catalog)
}

async fn describe(asked: &Asked<'_>, arguments: Option<&RawValue>) -> ToolResult<String> {
    let mut wish: DescribeWish = wish(DESCRIBE, arguments)?;
    let names = wish.names()?;
    let mut surface = asked.surface().clone();
    if names.iter().any(|name| surface.catalog.find(name).is_err()) {
        surface = known(asked).await;
    }
    wish.answer(&names, &surface.catalog)
}

/// Runs `call_tool` or its read-only twin.
async fn call_tool(asked: &Asked<'_>, meta_tool: &str) -> Answered {
    let wish = match CallWish::read(meta_tool, asked.params.arguments) {
        Ok(wish) => wish,
        Err(error) => return Ok(asked.refused(&error)),
    };
    let by = match wish.read_only {
        true => By::ReadOnlyMetaTool,
        false => By::MetaTool,
    };
    let (name, arguments) = (wish.tool_name.as_str(), wish.arguments);
    // Reserved names are Pegboard's own before any server's; a tool of the host program is its own, too.
    let is_reserved = is_meta_tool(name) && asked.surface().catalog.static_tool(name).is_none();
    if is_reserved && !is_call(name) {
        return look(asked, name, Some(&arguments)).await;
    }
    execute(asked, name, arguments, by).await
}

/// The lists with everything that can be known within the answer's deadline.
async fn known(asked: &Asked<'_>) -> std::sync::Arc<Surface> {
    let hub = &asked.conversation.shared.hub;
    hub.ensure_known_below(asked.span()).await;
    hub.touch();
    asked.view.surface(hub)
}
