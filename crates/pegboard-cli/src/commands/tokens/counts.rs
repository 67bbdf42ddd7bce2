//! The token counts without the details of the report.

use std::collections::BTreeMap;

use pegboard_catalog::{Catalog, ToolView};
use pegboard_model::{Reason, ToolError};
use serde_json::value::RawValue;

use super::tokenizer::{tokens, tokens_of_each};
use crate::failure::Failure;

/// Tokens that a model reads before the first question.
pub(crate) struct TokenCounts {
    /// Tokens of all definitions of each server.
    pub(crate) servers: BTreeMap<String, usize>,
    /// Tokens of Pegboard's own tools and instructions.
    pub(crate) own: usize,
}

/// Counts the tokens of a catalog.
pub(crate) fn token_counts(catalog: &Catalog) -> Result<TokenCounts, Failure> {
    let surface = pegboard_gateway::fixed_surface();
    let (list, instructions) = surface.split_once('\n').unwrap_or((&surface, ""));
    let meta: Vec<&RawValue> = serde_json::from_str(list).map_err(|why| {
        ToolError::new(Reason::Internal, format!("cannot count the tools: {why}"))
    })?;
    let own: usize = tokens_of_each(&meta, |tool| tool.get().to_owned())
        .iter()
        .sum();
    let tools: Vec<ToolView<'_>> = catalog.tools().collect();
    let each = tokens_of_each(&tools, |tool| tool.definition().to_owned());
    let mut servers = BTreeMap::new();
    for (tool, count) in tools.iter().zip(each) {
        if let Some(server) = tool.server() {
            *servers.entry(server.to_string()).or_default() += count;
        }
    }
    Ok(TokenCounts {
        servers,
        own: own + tokens(instructions),
    })
}
