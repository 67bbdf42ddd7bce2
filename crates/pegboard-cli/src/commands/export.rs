//! `pegboard export`: tool definitions in the format of a model provider.

use clap::Args;
use pegboard_catalog::{Catalog, ToolView};
use pegboard_formats::{Format, RenderedTools, ToolLosses};
use pegboard_model::{Reason, ServerName, ToolError, UntrustedText};
use serde::Serialize;

use super::undiscovered::{discover_untried, note_missing};
use super::{
    CommandResult, Global, Output, builder, load_config, open, reading, server_name, with_servers,
};
use crate::format::count;

#[derive(Args)]
pub(crate) struct ExportArgs {
    /// anthropic, anthropic-deferred, openai-responses, openai-deferred, openai-chat, gemini or bedrock
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Only the tools of these servers
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// Show what the format cannot express instead of the definitions
    #[arg(long)]
    pub(crate) losses: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    format: Format,
    /// The value of the request's `tools` field.
    tools: &'a serde_json::Value,
    /// What the format cannot express, by tool.
    losses: &'a [ToolLosses],
}

pub(crate) fn run(args: &ExportArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let servers = args
        .servers
        .iter()
        .map(|name| server_name(name, &configuration));
    let servers: Vec<ServerName> = servers.collect::<Result<_, _>>()?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            discover_untried(&hub, None, output).await;
            let catalog = hub.catalog();
            let rendered = rendered(&catalog, &servers, args.format);
            print(&rendered, args, output)?;
            note_missing(&hub, &catalog, output);
            Ok(())
        })
        .await
    })
}

fn rendered(catalog: &Catalog, servers: &[ServerName], format: Format) -> RenderedTools {
    let is_wanted = |view: &ToolView<'_>| {
        servers.is_empty() || view.server().is_some_and(|server| servers.contains(server))
    };
    let tools = catalog.tools().filter(is_wanted);
    pegboard_agent::render_tools(tools, format, &pegboard_formats::ConvertOptions::default())
}

fn print(rendered: &RenderedTools, args: &ExportArgs, output: &Output) -> CommandResult {
    let losses = &rendered.losses;
    if output.json {
        return output.document(&Document {
            format: args.format,
            tools: &rendered.document,
            losses,
        });
    }
    if args.losses {
        for tool in losses {
            for loss in &tool.losses {
                let place = UntrustedText::new(&loss.path);
                let detail = UntrustedText::new(&loss.detail);
                let name = UntrustedText::new(&tool.name);
                output.line(&format!("{name}  {place}  {}: {detail}", loss.kind.code()))?;
            }
        }
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&rendered.document)
        .map_err(|error| ToolError::new(Reason::Internal, error.to_string()))?;
    output.json_line(&text)?;
    if !losses.is_empty() {
        output.note(&format!(
            "{} could not be expressed completely; `--losses` shows the details.",
            count(losses.len(), "tool")
        ));
    }
    Ok(())
}
