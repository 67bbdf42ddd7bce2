//! Token counts of the meta tools' responses for a catalog.

use pegboard_catalog::{Catalog, LexicalSearch, ToolView};
use pegboard_metatools::{
    Detail, ListRequest, context_summary, describe_text, list_json, list_text, search_text,
};
use serde::Serialize;

use super::tokenizer::{tokens, tokens_of_each};

/// The number of searches, for tools spread evenly over the catalog.
const SEARCHES: usize = 100;
/// The number of tools per search.
const HITS: usize = 5;
/// The goal for the size of a description.
const DESCRIPTION_GOAL: usize = 400;

/// Token counts of the responses that a model reads.
#[derive(Debug, Serialize)]
pub(super) struct ResponseSizes {
    /// The longest list, of all tools or of one server.
    pub(super) list_max: usize,
    /// The longest list as JSON.
    pub(super) list_json_max: usize,
    /// The summary for a system prompt.
    pub(super) context: usize,
    pub(super) search_mean: usize,
    pub(super) search_max: usize,
    pub(super) describe_mean: usize,
    pub(super) describe_p95: usize,
    pub(super) describe_max: usize,
    /// The percentage of tools whose description has fewer than 400 tokens.
    pub(super) describe_below_400_percent: f64,
}

impl ResponseSizes {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let servers: Vec<&str> = catalog
            .servers()
            .map(|entry| entry.name().as_str())
            .collect();
        let requests: Vec<ListRequest<'_>> = std::iter::once(None)
            .chain(servers.iter().map(|name| Some(*name)))
            .map(|category| ListRequest {
                category,
                include_disabled: false,
            })
            .collect();
        let texts = tokens_of_each(&requests, |request| list_text(catalog, request));
        let jsons = tokens_of_each(&requests, |request| list_json(catalog, request));
        let tools: Vec<ToolView<'_>> = catalog.tools().collect();
        let step = tools.len().div_ceil(SEARCHES).max(1);
        let sought: Vec<String> = tools
            .iter()
            .step_by(step)
            .map(|tool| tool.name().replace(['_', '-'], " "))
            .collect();
        let searches = tokens_of_each(&sought, |query| {
            search_text(catalog, &LexicalSearch, &[query], HITS, Detail::Signature)
        });
        let mut described = tokens_of_each(&tools, |tool| describe_text(tool, true));
        described.sort_unstable();
        let below = described.partition_point(|tokens| *tokens < DESCRIPTION_GOAL);
        Self {
            list_max: most(&texts),
            list_json_max: most(&jsons),
            context: tokens(&context_summary(catalog, &[])),
            search_mean: mean(&searches),
            search_max: most(&searches),
            describe_mean: mean(&described),
            describe_p95: described
                .get(described.len() * 95 / 100)
                .copied()
                .unwrap_or_default(),
            describe_max: most(&described),
            describe_below_400_percent: percent(below, described.len()),
        }
    }
}

/// Returns a percentage with two decimal places; 100 if `whole` is zero.
pub(super) fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 100.0;
    }
    (part as f64 / whole as f64 * 10_000.0).round() / 100.0
}

fn most(counts: &[usize]) -> usize {
    counts.iter().copied().max().unwrap_or_default()
}

fn mean(counts: &[usize]) -> usize {
    counts
        .iter()
        .sum::<usize>()
        .checked_div(counts.len())
        .unwrap_or_default()
}
