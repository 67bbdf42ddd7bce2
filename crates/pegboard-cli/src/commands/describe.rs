//! `pegboard describe`: prints one tool in full.

use clap::Args;
use pegboard_catalog::{Description, FailedRefresh, describe};
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, UntrustedText};

use super::tool_lookup::{find_tool, refuse_broken};
use super::{CommandResult, Global, Output, builder, load_config, open, reading, with_servers};
use crate::format::ago;
use crate::output::Paint;

#[derive(Args)]
pub(crate) struct DescribeArgs {
    /// The tool: server/tool, server.tool, server__tool, or its bare name when only one server has it
    pub(crate) tool: String,
}

pub(crate) fn run(tool: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    refuse_broken(tool, &configuration)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let (catalog, tool) = find_tool(tool, &hub).await?;
            let description = describe(&catalog.find(&tool)?);
            if output.json {
                return output.document(&description);
            }
            output.line(text(&description, output).trim_end())
        })
        .await
    })
}

fn text(tool: &Description, output: &Output) -> String {
    let mut text = format!("{}\n", output.paint(Paint::Strong, &tool.signature));
    if let Some(deprecated) = &tool.deprecated {
        text += &format!(
            "{} {}\n",
            output.paint(Paint::Warn, "deprecated:"),
            UntrustedText::new(deprecated)
        );
    }
    if let Some(note) = &tool.note {
        let mark = output.paint(Paint::Warn, "note:");
        text += &format!("{mark} {}\n", UntrustedText::new(note));
    }
    if let Some(failed) = &tool.failed_refresh {
        let mark = output.paint(Paint::Warn, "stale:");
        text += &format!("{mark} {}\n", stale(failed));
    }
    text += &format!("\n{}\n", UntrustedText::block(tool.description.trim()));
    if !tool.parameters.is_empty() {
        text += &format!("\n{}\n", output.paint(Paint::Dim, "PARAMETERS"));
        for parameter in &tool.parameters {
            let required = if parameter.required { "" } else { "?" };
            let name = format!("{}{required}", UntrustedText::new(&parameter.name));
            let kind = UntrustedText::new(&parameter.kind).to_string();
            text += &format!(
                "  {} {}",
                output.paint(Paint::Strong, &name),
                output.paint(Paint::Dim, &kind)
            );
            if let Some(default) = &parameter.default {
                text += &format!(
                    " = {}",
                    UntrustedText::new(&default.to_string()).shortened(60)
                );
            }
            text.push('\n');
            if let Some(description) = &parameter.description {
                text += &format!("      {}\n", UntrustedText::new(description).shortened(400));
            }
            if let Some(choices) = &parameter.choices {
                let choices: Vec<_> = choices.iter().map(|v| v.to_string()).collect();
                text += &format!(
                    "      one of {}\n",
                    UntrustedText::new(&choices.join(", ")).shortened(400)
                );
            }
        }
    }
    if let Some(example) = tool.examples.first() {
        text += &format!("\n{}\n", output.paint(Paint::Dim, "EXAMPLE"));
        let arguments = example.arguments.to_string();
        text += &format!(
            "  pegboard call {} --args '{}'\n",
            tool.name,
            UntrustedText::new(&arguments)
        );
        if let Some(expected) = &example.expected_output {
            let written = expected
                .as_str()
                .map_or_else(|| expected.to_string(), str::to_owned);
            text += &format!("  {}\n", UntrustedText::new(&written).shortened(400));
        }
    }
    if !tool.related.is_empty() {
        text += &format!(
            "\n{}\n  {}\n",
            output.paint(Paint::Dim, "RELATED"),
            tool.related.join(", ")
        );
    }
    text
}

/// Describes the age of the tool list and why the last refresh failed.
fn stale(failed: &FailedRefresh) -> String {
    let cached = ago(SystemClock.now(), failed.discovered_at);
    match &failed.error {
        Some(error) => {
            let first = error.message.lines().next().unwrap_or_default();
            let why = UntrustedText::new(first).shortened(200).to_string();
            format!(
                "cached {cached}; last refresh failed: {why} [{}]",
                error.reason
            )
        }
        None => format!("cached {cached}; last refresh failed"),
    }
}
