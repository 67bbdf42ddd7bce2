//! Runs the meta tools for a client.

use std::time::Instant;

use pegboard_metatools::{Lookup, MetaCall};
use pegboard_model::ToolResult;

use crate::calling::{CallOrigin, execute, text_result};
use crate::dispatch::{HandlerResult, RequestContext};
use crate::offload;

/// Runs a call of a meta tool. Mistakes of the model become results that it can read.
pub(crate) async fn run(ctx: &RequestContext<'_>, name: &str) -> HandlerResult {
    let catalog = &ctx.surface().catalog;
    let lookup = match MetaCall::parse(name, ctx.params.arguments, catalog) {
        Ok(MetaCall::Lookup(lookup)) => lookup,
        Ok(MetaCall::Tool(args)) => {
            let by = match args.read_only {
                true => CallOrigin::ReadOnlyMetaTool,
                false => CallOrigin::MetaTool,
            };
            return execute(ctx, &args.tool_name, args.arguments, by).await;
        }
        Err(error) => return Ok(ctx.refused(&error)),
    };
    Ok(match look_up(ctx, lookup).await {
        Ok(text) => text_result(&text),
        Err(error) => ctx.refused(&error),
    })
}

async fn look_up(ctx: &RequestContext<'_>, lookup: Lookup) -> ToolResult<String> {
    let shared = ctx.conversation.shared.clone();
    let hub = &shared.hub;
    let mut surface = ctx.surface().clone();
    if lookup.needs_discovery(&surface.catalog) {
        // The discovery has a deadline; what is unknown after it is left out.
        hub.ensure_known_in_span(ctx.span()).await;
        hub.refresh_stale_in_background();
        surface = ctx.view.surface(hub);
    }
    if lookup.is_search() {
        hub.load_vectors_once().await;
    }
    let finder = hub.finder(Some(ctx.conversation.session.clone()));
    let finder = finder.below(ctx.span().cloned());
    let is_slow = lookup.is_slow(&surface.catalog, hub.has_encoder());
    let run = move || {
        lookup.run(
            &surface.catalog,
            &finder,
            &shared.result_store,
            Instant::now(),
        )
    };
    offload::run(is_slow, run).await?
}
