//! `pegboard tools`: every known tool, nothing known is started.

use pegboard_catalog::{Catalog, ListingFilter, write_listing};
use pegboard_hub::Pending;
use pegboard_model::{Approval, Foreign};

use super::{
    Done, Global, Output, configured, open, options, reading, server_name, tell_if_empty,
    with_servers,
};
use crate::cli::args::ToolsArgs;
use crate::cli::output::Paint;
use crate::cli::people::{count, thousands};

pub(crate) fn run(args: &ToolsArgs, global: &Global, output: &Output) -> Done {
    let configured = configured(global, output)?;
    let server = args
        .server
        .as_deref()
        .map(|name| server_name(name, &configured))
        .transpose()?;
    let filter = ListingFilter {
        server,
        category: args.category.clone(),
        include_disabled: args.all,
    };
    if !output.json && tell_if_empty(&configured, output) {
        return Ok(());
    }
    reading(async {
        let pegboard = open(configured, options(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let pending = hub.ensure_known().await;
            let catalog = hub.catalog();
            if output.json {
                output.stream(|out| write_listing(&catalog, &filter, out))?;
            } else {
                table(&catalog, &filter, output)?;
            }
            tell_pending(&pending, output);
            tell_failed(&catalog, output);
            tell_waiting(&catalog, output);
            Ok(())
        })
        .await
    })
}

fn table(catalog: &Catalog, filter: &ListingFilter, output: &Output) -> Done {
    let mut tokens = 0;
    let rows: Vec<Vec<String>> = catalog
        .all_tools()
        .filter(|tool| filter.admits(tool))
        .map(|tool| {
            tokens += tool.tokens() as usize;
            let mut summary = Foreign::new(tool.summary()).to_string();
            if !tool.enabled() {
                summary = format!("{} {summary}", output.paint(Paint::Dim, "(disabled)"));
            } else if tool.stale() {
                summary = format!("{} {summary}", output.paint(Paint::Dim, "(stale)"));
            }
            if let Some(note) = tool.note() {
                let mark = output.paint(Paint::Warn, "(note)");
                summary = format!("{mark} {}; {summary}", Foreign::new(note));
            }
            let category = Foreign::new(tool.category()).to_string();
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

/// Names the servers whose tools are missing from the answer.
pub(crate) fn tell_pending(pending: &Pending, output: &Output) {
    if pending.discovering.is_empty() {
        return;
    }
    let names: Vec<_> = pending
        .discovering
        .iter()
        .map(|name| name.as_str())
        .collect();
    output.note(&format!(
        "{} still being discovered: {}. `pegboard refresh` waits for them.",
        output.paint(Paint::Warn, "note:"),
        names.join(", ")
    ));
}

/// Names the servers whose tools are missing because they were never received.
pub(crate) fn tell_failed(catalog: &Catalog, output: &Output) {
    let unknown = catalog
        .servers()
        .filter(|entry| entry.is_offered() && !entry.record.is_known());
    for entry in unknown {
        if let Some(error) = &entry.record.last_error {
            let first = error.message.lines().next().unwrap_or_default();
            output.note(&format!(
                "{} {} [{}]",
                output.paint(Paint::Warn, "note:"),
                Foreign::new(first),
                error.reason
            ));
        }
    }
}

/// Names the servers that a project brings and nobody has agreed to.
fn tell_waiting(catalog: &Catalog, output: &Output) {
    let waits = |entry: &&std::sync::Arc<pegboard_catalog::ServerEntry>| {
        entry.spec.enabled && entry.spec.approval != Approval::Granted
    };
    let names: Vec<_> = catalog
        .servers()
        .filter(waits)
        .map(|entry| entry.name().as_str())
        .collect();
    if !names.is_empty() {
        output.note(&format!(
            "{} waiting for your agreement: {}. See `pegboard trust`.",
            output.paint(Paint::Warn, "note:"),
            names.join(", ")
        ));
    }
}
