//! `pegboard search`: searches tools by words and meaning.

mod explain;

use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use pegboard_catalog::{Catalog, HitLine, SearchResults, SemanticCoverage, ToolSearch, lines};
use pegboard_hub::{Finder, Hub, MeaningProgress};
use pegboard_model::UntrustedText;
use serde::Serialize;

use super::tools::note_held;
use super::undiscovered::{discover_untried, note_missing};
use super::{
    CommandResult, Global, Output, builder, load_config, note_if_empty, open, reading, with_servers,
};
use crate::format::thousands;

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// What the tool should do, or its name
    #[arg(required_unless_present = "forget")]
    pub(crate) words: Vec<String>,
    /// Maximum number of tools [default: 10]
    #[arg(long)]
    pub(crate) limit: Option<usize>,
    /// Show the matched words and the parts of each score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Rank by words alone, not by meaning
    #[arg(long = "words", conflicts_with = "forget")]
    pub(crate) words_only: bool,
    /// Remember that these words mean this tool
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["explain", "words_only", "limit", "forget"])]
    pub(crate) teach: Option<String>,
    /// Delete the search history (see the setting `remember_searches`)
    #[arg(long, conflicts_with_all = ["words", "explain"])]
    pub(crate) forget: bool,
}

/// The default number of results.
const HITS: usize = 10;
/// Hits that are searched for each line of the table.
const HITS_PER_LINE: usize = 3;
/// The time that a search waits until new tools are encoded for search by meaning.
const ENCODING_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Serialize)]
struct Document<'a> {
    query: &'a str,
    /// The number of all matching tools.
    total: usize,
    /// Whether every tool was compared by meaning: `all`, `some` or `none`.
    by_meaning: &'static str,
    /// Whether the first hit is likely to be right.
    good_match: bool,
    hits: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    server: Option<&'a str>,
    summary: &'a str,
    category: &'a str,
    score: f32,
    confidence: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<explain::ScoreBreakdown>,
}

pub(crate) fn run(args: &SearchArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    if !args.forget && !output.json && note_if_empty(&configuration, output) {
        return Ok(());
    }
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        with_servers(pegboard, |hub| async move {
            match (args.forget, &args.teach) {
                (true, _) => forget(&hub, output).await,
                (false, Some(tool)) => teach(args, tool, &hub, output).await,
                (false, None) => search(args, &hub, output).await,
            }
        })
        .await
    })
}

async fn forget(hub: &Hub, output: &Output) -> CommandResult {
    #[derive(Serialize)]
    struct Forgotten {
        forgotten: usize,
    }
    let forgotten = hub.forget_searches().await?;
    if output.json {
        return output.document(&Forgotten { forgotten });
    }
    let noun = if forgotten == 1 { "search" } else { "searches" };
    output.line(&format!("Deleted {} past {noun}.", thousands(forgotten)))
}

async fn teach(args: &SearchArgs, tool: &str, hub: &Hub, output: &Output) -> CommandResult {
    #[derive(Serialize)]
    struct Taught<'a> {
        query: &'a str,
        tool: &'a str,
    }
    discover_untried(hub, None, output).await;
    let query = args.words.join(" ");
    hub.teach_search(&query, tool).await?;
    let catalog = hub.catalog();
    let tool = catalog.find(tool)?.exposed().as_str();
    if output.json {
        return output.document(&Taught {
            query: &query,
            tool,
        });
    }
    let query = UntrustedText::new(&query).shortened(80);
    output.line(&format!(
        "Searches like \u{201c}{query}\u{201d} now prefer {tool}."
    ))
}

async fn search(args: &SearchArgs, hub: &Hub, output: &Output) -> CommandResult {
    discover_untried(hub, None, output).await;
    if !args.words_only {
        hub.load_vectors_once().await;
        encode_missing(hub, output).await;
    }
    let mut finder = hub.finder(None);
    if args.words_only {
        finder = finder.by_words();
    }
    if args.explain {
        finder = finder.explaining();
    }
    let catalog = hub.catalog();
    answer(args, &finder, &catalog, output)?;
    note_missing(hub, &catalog, output);
    note_held(&catalog, output);
    Ok(())
}

/// Encodes tools that were not encoded yet, with a progress bar on a terminal.
async fn encode_missing(hub: &Hub, output: &Output) {
    let bar = output.is_interactive().then(ProgressBar::no_length);
    let style =
        ProgressStyle::with_template("{spinner} {pos}/{len} tools encoded for search by meaning");
    if let (Some(bar), Ok(style)) = (&bar, style) {
        bar.set_style(style);
    }
    let on_progress = |progress: MeaningProgress| {
        if let Some(bar) = &bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.ready as u64);
        }
    };
    hub.index_meaning(ENCODING_TIMEOUT, &on_progress).await;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn answer(args: &SearchArgs, finder: &Finder, catalog: &Catalog, output: &Output) -> CommandResult {
    let query = args.words.join(" ");
    let limit = args.limit.unwrap_or(HITS);
    // In the table, the same tool of several servers shares a line.
    let as_table = !output.json && !args.explain;
    let wanted = if as_table {
        limit.saturating_mul(HITS_PER_LINE)
    } else {
        limit
    };
    let found = finder.find(catalog, &query, wanted);
    if output.json {
        return output.document(&document(&query, &found));
    }
    if found.hits.is_empty() {
        output.note("No tool matches. List all tools with `pegboard tools`.");
        return Ok(());
    }
    if !found.has_good_match() {
        output.note("No good match; these tools are the nearest.");
    }
    if args.explain {
        explain::show(&found, output)?;
    } else {
        let row = |line: &HitLine<'_>| {
            let tool = &line.hit.tool;
            let mut summary = UntrustedText::new(tool.summary()).to_string();
            for (at, twin) in line.twins.iter().enumerate() {
                let before = if at == 0 { " (also" } else { "," };
                summary.push_str(&format!("{before} {}", twin.exposed()));
            }
            if !line.twins.is_empty() {
                summary.push(')');
            }
            vec![tool.exposed().to_string(), summary]
        };
        let rows = lines(found.hits.clone(), limit).iter().map(row).collect();
        output.line(&output.table(&["TOOL", "SUMMARY"], rows, 1))?;
    }
    if finder.misses_meaning(catalog, &found) {
        output.note(match found.by_meaning {
            SemanticCoverage::Some => "Some tools were ranked by words only, because they are not encoded yet. Search again later.",
            _ => "Ranked by words only, because the tools are not encoded yet. Search again later.",
        });
    }
    Ok(())
}

fn document<'a>(query: &'a str, found: &'a SearchResults<'a>) -> Document<'a> {
    let rows = found.hits.iter().map(|hit| Row {
        name: hit.tool.exposed().as_str(),
        server: hit.tool.server().map(|server| server.as_str()),
        summary: hit.tool.summary(),
        category: hit.tool.category(),
        score: hit.score,
        confidence: hit.confidence,
        why: hit.why.as_deref().map(explain::ScoreBreakdown::of),
    });
    Document {
        query,
        total: found.total,
        by_meaning: match found.by_meaning {
            SemanticCoverage::All => "all",
            SemanticCoverage::Some => "some",
            SemanticCoverage::None => "none",
        },
        good_match: found.has_good_match(),
        hits: rows.collect(),
    }
}
