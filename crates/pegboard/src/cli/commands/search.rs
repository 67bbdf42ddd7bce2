//! `pegboard search`: tools by words.

use pegboard_catalog::Catalog;
use pegboard_model::Foreign;
use serde::Serialize;

use super::tools::{tell_failed, tell_pending};
use super::{
    Done, Global, Output, configured, open, options, reading, tell_if_empty, with_servers,
};
use crate::cli::args::SearchArgs;

#[derive(Serialize)]
struct Document<'a> {
    query: &'a str,
    hits: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    server: Option<&'a str>,
    summary: &'a str,
    category: &'a str,
    score: u32,
}

pub(crate) fn run(args: &SearchArgs, global: &Global, output: &Output) -> Done {
    let configured = configured(global, output)?;
    if !output.json && tell_if_empty(&configured, output) {
        return Ok(());
    }
    reading(async {
        let pegboard = open(configured, options(global), output).await?;
        with_servers(pegboard, |hub| async move {
            let pending = hub.ensure_known().await;
            answer(args, &hub.catalog(), output)?;
            tell_pending(&pending, output);
            tell_failed(&hub.catalog(), output);
            Ok(())
        })
        .await
    })
}

fn answer(args: &SearchArgs, catalog: &Catalog, output: &Output) -> Done {
    let query = args.words.join(" ");
    let hits = catalog.search(&query, args.limit);
    let rows: Vec<Row<'_>> = hits
        .iter()
        .map(|hit| Row {
            name: hit.tool.exposed().as_str(),
            server: hit.tool.server().map(|server| server.as_str()),
            summary: hit.tool.summary(),
            category: hit.tool.category(),
            score: hit.score,
        })
        .collect();
    if output.json {
        return output.document(&Document {
            query: &query,
            hits: rows,
        });
    }
    if rows.is_empty() {
        output.note("No tool matches. `pegboard tools` lists all.");
        return Ok(());
    }
    let rows = rows
        .iter()
        .map(|row| vec![row.name.to_owned(), Foreign::new(row.summary).to_string()])
        .collect();
    output.line(&output.table(&["TOOL", "SUMMARY"], rows, 1))
}
