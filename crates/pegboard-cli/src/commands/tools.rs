//! `pegboard tools`: lists tools without starting servers that were discovered before.

use clap::Args;
use pegboard_catalog::{Catalog, ListingFilter, write_listing};
use pegboard_model::{DiscoveryStatus, TrustState, UntrustedText};

use super::undiscovered::{discover_untried, note_missing};
use super::{
    CommandResult, Global, Output, builder, load_config, note_if_empty, open, reading, server_name,
    with_servers,
};
use crate::format::{count, thousands};
use crate::output::Paint;

#[derive(Args)]
pub(crate) struct ToolsArgs {
    /// Only this server's tools
    pub(crate) server: Option<String>,
    /// Only tools in this category or its subcategories
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Show disabled tools too
    #[arg(long)]
    pub(crate) all: bool,
}

pub(crate) fn run(args: &ToolsArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let server = args
        .server
        .as_deref()
        .map(|name| server_name(name, &configuration))
        .transpose()?;
    let filter = ListingFilter {
        server,
        category: args.category.clone(),
        include_disabled: args.all,
        include_held: true,
    };
    if !output.json && note_if_empty(&configuration, output) {
        return Ok(());
    }
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            discover_untried(&hub, filter.server.as_ref(), output).await;
            let catalog = hub.catalog();
            if output.json {
                output.stream(|out| write_listing(&catalog, &filter, out))?;
            } else {
                table(&catalog, &filter, output)?;
            }
            note_missing(&hub, &catalog, output);
            note_untrusted(&catalog, output);
            note_held(&catalog, output);
            Ok(())
        })
        .await
    })
}

fn table(catalog: &Catalog, filter: &ListingFilter, output: &Output) -> CommandResult {
    let mut tokens = 0;
    let rows: Vec<Vec<String>> = catalog
        .all_tools()
        .filter(|tool| filter.admits(tool))
        .map(|tool| {
            tokens += tool.tokens() as usize;
            let mut summary = UntrustedText::new(tool.summary()).to_string();
            if tool.is_held() {
                summary = format!("{} {summary}", output.paint(Paint::Warn, "(held)"));
            } else if !tool.enabled() {
                summary = format!("{} {summary}", output.paint(Paint::Dim, "(disabled)"));
            } else if tool.status() == DiscoveryStatus::Failed {
                summary = format!("{} {summary}", output.paint(Paint::Dim, "(stale)"));
            }
            if let Some(note) = tool.note() {
                let mark = output.paint(Paint::Warn, "(note)");
                summary = format!("{mark} {}; {summary}", UntrustedText::new(note));
            }
            let category = UntrustedText::new(tool.category()).to_string();
            let name = tool.exposed().to_string();
            if output.is_narrow() {
                vec![name, summary]
            } else {
                vec![name, category, summary]
            }
        })
        .collect();
    let total = rows.len();
    if total > 0 {
        let table = if output.is_narrow() {
            output.table(&["TOOL", "SUMMARY"], rows, 1)
        } else {
            output.table(&["TOOL", "CATEGORY", "SUMMARY"], rows, 2)
        };
        output.line(&table)?;
    }
    let cost = format!("about {} tokens if listed in full", thousands(tokens));
    output.note(&format!("{}, {cost}", count(total, "tool")));
    Ok(())
}

/// Prints how many definitions await a review.
pub(super) fn note_held(catalog: &Catalog, output: &Output) {
    let marks = catalog.servers().flat_map(|entry| entry.reviews().all());
    let held = marks
        .filter(|mark| mark.is_held() && !mark.is_rejected())
        .count();
    if held > 0 {
        let (note, verb) = (
            output.paint(Paint::Warn, "note:"),
            if held == 1 { "awaits" } else { "await" },
        );
        output.note(&format!(
            "{note} {} {verb} review, and models do not get them. Look with `pegboard review`.",
            count(held, "definition"),
        ));
    }
}

/// Prints the project's servers that are not trusted yet.
fn note_untrusted(catalog: &Catalog, output: &Output) {
    let waits = |entry: &&std::sync::Arc<pegboard_catalog::ServerEntry>| {
        entry.spec.enabled && entry.spec.trust_state != TrustState::Granted
    };
    let names: Vec<_> = catalog
        .servers()
        .filter(waits)
        .map(|entry| entry.name().as_str())
        .collect();
    if !names.is_empty() {
        output.note(&format!(
            "{} not trusted yet: {}. Review with `pegboard trust`.",
            output.paint(Paint::Warn, "note:"),
            names.join(", ")
        ));
    }
}
