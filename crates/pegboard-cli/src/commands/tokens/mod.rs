//! `pegboard tokens`: exact token counts of all tool definitions, with and without Pegboard.
//!
//! This is the only command with a real tokenizer; its table is loaded only when the command runs.

mod clients;
mod counts;
mod recorded_lists;
mod report;
mod response_sizes;
mod shapes;
mod tokenizer;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use pegboard_catalog::Catalog;
use pegboard_model::{Reason, ToolError};
use std::path::PathBuf;

use super::undiscovered::{discover_untried, note_missing};
use super::{
    CommandResult, Global, Output, builder, load_config, note_if_empty, open, reading, with_servers,
};
use crate::failure::Failure;
pub(crate) use counts::{TokenCounts, token_counts};
use report::Report;

#[derive(Args)]
pub(crate) struct TokensArgs {
    /// Count recorded tool lists instead of the configured servers: one JSON file with `tools` per server
    #[arg(long, value_name = "DIR")]
    pub(crate) lists: Option<PathBuf>,
}

pub(crate) fn run(args: &TokensArgs, global: &Global, output: &Output) -> CommandResult {
    let surface = pegboard_gateway::fixed_surface();
    if let Some(folder) = &args.lists {
        let (catalog, notes) = recorded_lists::read(folder)?;
        notes.iter().for_each(|note| output.note(note));
        return print(&catalog, &surface, output);
    }
    let configuration = load_config(global, output)?;
    if !output.json && note_if_empty(&configuration, output) {
        return Ok(());
    }
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            discover_untried(&hub, None, output).await;
            let catalog = hub.catalog();
            print(&catalog, &surface, output)?;
            note_missing(&hub, &catalog, output);
            Ok(())
        })
        .await
    })
}

fn print(catalog: &Catalog, surface: &str, output: &Output) -> CommandResult {
    let report = counted(catalog, surface, output)?;
    if output.json {
        return output.document(&report);
    }
    output.line(&report.text(output))
}

fn counted(catalog: &Catalog, surface: &str, output: &Output) -> Result<Report, Failure> {
    let waiting = output.is_interactive().then(|| {
        let spinner = ProgressBar::new_spinner().with_message("counting tokens");
        spinner.set_style(ProgressStyle::default_spinner());
        spinner.enable_steady_tick(std::time::Duration::from_millis(200));
        spinner
    });
    let report = Report::of(catalog, surface)
        .map_err(|why| ToolError::new(Reason::Internal, format!("cannot count the tools: {why}")));
    if let Some(spinner) = waiting {
        spinner.finish_and_clear();
    }
    Ok(report?)
}
