//! `pegboard export`: the tools as a model provider wants them.

use std::borrow::Cow;

use pegboard_catalog::{Catalog, ToolView};
use pegboard_formats::{Format, Rendered, Source, ToolLosses, definitions};
use pegboard_model::{Foreign, Reason, ServerName, ToolError};
use serde::Serialize;

use super::tools::{tell_failed, tell_pending};
use super::{Done, Global, Output, configured, open, options, reading, server_name, with_servers};
use crate::cli::args::ExportArgs;
use crate::cli::people::count;

#[derive(Serialize)]
struct Document<'a> {
    format: Format,
    /// What goes into the request's field for tools.
    tools: &'a serde_json::Value,
    /// The tools that lost something on the way, and what.
    losses: &'a [ToolLosses],
}

pub(crate) fn run(args: &ExportArgs, global: &Global, output: &Output) -> Done {
    let configured = configured(global, output)?;
    let servers = args
        .servers
        .iter()
        .map(|name| server_name(name, &configured));
    let servers: Vec<ServerName> = servers.collect::<Result<_, _>>()?;
    reading(async {
        let pegboard = open(configured, options(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let pending = hub.ensure_known().await;
            let catalog = hub.catalog();
            let rendered = rendered(&catalog, &servers, args.format);
            tell(&rendered, args, output)?;
            tell_pending(&pending, output);
            tell_failed(&catalog, output);
            Ok(())
        })
        .await
    })
}

/// What a tool says that a source only borrows.
struct Texts<'a> {
    view: ToolView<'a>,
    description: Cow<'a, str>,
    about_server: Cow<'a, str>,
}

fn rendered(catalog: &Catalog, servers: &[ServerName], format: Format) -> Rendered {
    let is_wanted = |view: &ToolView<'_>| {
        servers.is_empty() || view.server().is_some_and(|server| servers.contains(server))
    };
    let texts: Vec<Texts<'_>> = catalog
        .tools()
        .filter(is_wanted)
        .map(|view| Texts {
            view,
            description: view.description(),
            about_server: view
                .entry()
                .map(|entry| entry.described())
                .unwrap_or_default(),
        })
        .collect();
    let sources: Vec<Source<'_>> = texts.iter().map(source).collect();
    definitions(&sources, format)
}

fn source<'a>(texts: &'a Texts<'a>) -> Source<'a> {
    let view = &texts.view;
    let examples = view.user_words().map(|words| words.examples.as_slice());
    let examples = examples.unwrap_or_default().iter();
    Source {
        name: view.exposed().as_str(),
        server: view.server().map(ServerName::as_str),
        server_description: Some(&*texts.about_server).filter(|text| !text.is_empty()),
        description: Some(&texts.description),
        input_schema: view.input_schema(),
        examples: examples.map(|example| example.arguments.clone()).collect(),
    }
}

fn tell(rendered: &Rendered, args: &ExportArgs, output: &Output) -> Done {
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
                let place = Foreign::new(&loss.path);
                let detail = Foreign::new(&loss.detail);
                let name = Foreign::new(&tool.name);
                output.line(&format!("{name}  {place}  {}: {detail}", loss.kind.code()))?;
            }
        }
        return Ok(());
    }
    let text = serde_json::to_string_pretty(&rendered.document)
        .map_err(|error| ToolError::new(Reason::Internal, error.to_string()))?;
    output.line(&text)?;
    if !losses.is_empty() {
        let what = format!("{} written differently", count(losses.len(), "tool"));
        output.note(&format!(
            "{what} than the server did; `--losses` shows what."
        ));
    }
    Ok(())
}
