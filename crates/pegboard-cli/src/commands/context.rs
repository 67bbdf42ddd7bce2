//! `pegboard context`: a short summary of all tools for a system prompt.

use pegboard_guard::estimate_tokens;
use serde::Serialize;

use super::undiscovered::{discover_untried, note_missing};
use super::{CommandResult, Global, Output, builder, load_config, open, reading, with_servers};

#[derive(Serialize)]
struct Document<'a> {
    text: &'a str,
    tokens: u32,
}

pub(crate) fn run(global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let essential = pegboard.configuration().loaded.settings.essential.clone();
        with_servers(pegboard, |hub| async move {
            discover_untried(&hub, None, output).await;
            let catalog = hub.catalog();
            let text = pegboard_metatools::context_summary(&catalog, &essential);
            if output.json {
                let tokens = estimate_tokens(&text);
                output.document(&Document {
                    text: &text,
                    tokens,
                })?;
            } else {
                output.line(&text)?;
            }
            note_missing(&hub, &catalog, output);
            Ok(())
        })
        .await
    })
}
