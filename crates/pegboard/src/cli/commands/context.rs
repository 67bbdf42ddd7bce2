//! `pegboard context`: what is there, in a few lines for a system prompt.

use pegboard_guard::estimate_tokens;
use serde::Serialize;

use super::tools::{tell_failed, tell_pending};
use super::{Done, Global, Output, configured, open, options, reading, with_servers};

#[derive(Serialize)]
struct Document<'a> {
    text: &'a str,
    tokens: u32,
}

pub(crate) fn run(global: &Global, output: &Output) -> Done {
    let configured = configured(global, output)?;
    reading(async {
        let pegboard = open(configured, options(global), output).await?;
        let essential = pegboard.essential_patterns();
        with_servers(pegboard, |hub| async move {
            let pending = hub.ensure_known().await;
            let catalog = hub.catalog();
            let text = pegboard_catalog::context_summary(&catalog, &essential);
            if output.json {
                let tokens = estimate_tokens(&text);
                output.document(&Document {
                    text: &text,
                    tokens,
                })?;
            } else {
                output.line(&text)?;
            }
            tell_pending(&pending, output);
            tell_failed(&catalog, output);
            Ok(())
        })
        .await
    })
}
