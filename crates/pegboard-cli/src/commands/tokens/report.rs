//! The report of `pegboard tokens`, as text and as JSON.

use pegboard_catalog::{Catalog, ToolView};
use serde::Serialize;
use serde_json::value::RawValue;

use super::clients::{ClientCost, client_costs};
use super::response_sizes::{ResponseSizes, percent};
use super::shapes::ToolParts;
use super::tokenizer::{TOKENIZER, tokens, tokens_of_each};
use crate::format::{count, thousands};
use crate::output::Output;

/// The name of Pegboard in the configuration of clients.
const OWN_NAME: &str = "pegboard";

/// All token counts.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    tokenizer: &'static str,
    servers: Vec<Row>,
    total: Total,
    answers: ResponseSizes,
    clients: Vec<ClientCost>,
}

#[derive(Debug, Serialize)]
struct Row {
    server: String,
    tools: usize,
    tokens: usize,
}

#[derive(Debug, Serialize)]
struct Total {
    servers: usize,
    tools: usize,
    /// Tokens of all definitions.
    #[serde(rename = "static")]
    pushed: usize,
    /// Tokens of Pegboard's own tools and instructions.
    lazy: usize,
    saving_percent: f64,
}

impl Report {
    /// Counts a catalog. `surface` is what clients see of Pegboard: the JSON list of its meta tools on one line, then
    /// its instructions.
    pub(super) fn of(catalog: &Catalog, surface: &str) -> Result<Self, serde_json::Error> {
        let (list, instructions) = surface.split_once('\n').unwrap_or((surface, ""));
        let meta: Vec<&RawValue> = serde_json::from_str(list)?;
        let said = tokens(instructions);
        let tools: Vec<ToolView<'_>> = catalog.tools().collect();
        let each = tokens_of_each(&tools, |tool| tool.definition().to_owned());
        let defined: usize = tokens_of_each(&meta, |tool| tool.get().to_owned())
            .iter()
            .sum();
        let lazy = defined + said;
        let mut servers: Vec<Row> = Vec::new();
        for (tool, tokens) in tools.iter().zip(&each) {
            let name = tool
                .server()
                .map_or(tool.category(), |server| server.as_str());
            match servers.iter_mut().rev().find(|row| row.server == name) {
                Some(row) => {
                    row.tools += 1;
                    row.tokens += tokens;
                }
                None => servers.push(Row {
                    server: name.to_owned(),
                    tools: 1,
                    tokens: *tokens,
                }),
            }
        }
        servers.sort_by(|one, other| {
            other
                .tokens
                .cmp(&one.tokens)
                .then_with(|| one.server.cmp(&other.server))
        });
        let pieces: Vec<ToolParts<'_>> = tools.iter().filter_map(ToolParts::of_tool).collect();
        let own: Vec<ToolParts<'_>> = meta
            .iter()
            .filter_map(|tool| ToolParts::of_definition(tool.get(), OWN_NAME))
            .collect();
        let pushed = each.iter().sum();
        Ok(Self {
            tokenizer: TOKENIZER,
            total: Total {
                servers: servers.len(),
                tools: tools.len(),
                pushed,
                lazy,
                saving_percent: if pushed == 0 {
                    0.0
                } else {
                    percent(pushed.saturating_sub(lazy), pushed)
                },
            },
            servers,
            answers: ResponseSizes::of(catalog),
            clients: client_costs(&pieces, &own, said),
        })
    }

    /// Formats the report for a terminal of 80 columns.
    pub(super) fn text(&self, output: &Output) -> String {
        let servers = self.servers.iter().map(|row| {
            vec![
                row.server.clone(),
                row.tools.to_string(),
                right(row.tokens, 9),
            ]
        });
        let servers = output.table(&["SERVER", "TOOLS", "   TOKENS"], servers.collect(), None);
        let total = &self.total;
        let summary = format!(
            "{} of {}: {} tokens with all definitions,\n{} with Pegboard: {:.2} % less. Counted with {}.",
            count(total.tools, "tool"),
            count(total.servers, "server"),
            thousands(total.pushed),
            thousands(total.lazy),
            total.saving_percent,
            self.tokenizer
        );
        let answers = &self.answers;
        let rows = [
            ("list, max", answers.list_max),
            ("list as JSON, max", answers.list_json_max),
            ("search, 5 tools, mean", answers.search_mean),
            ("search, 5 tools, max", answers.search_max),
            ("description, mean", answers.describe_mean),
            ("description, 95th percentile", answers.describe_p95),
            ("description, max", answers.describe_max),
            ("context summary", answers.context),
        ];
        let rows = rows.map(|(what, tokens)| vec![what.to_owned(), right(tokens, 9)]);
        let answers = output.table(&["RESPONSE", "   TOKENS"], rows.to_vec(), None);
        let clients = self.clients.iter().map(|bill| {
            let limit = bill
                .tool_limit
                .map(|limit| format!("accepts at most {limit} tools"));
            let note = limit.unwrap_or_else(|| bill.note.to_owned());
            vec![
                bill.client.to_owned(),
                right(bill.pushed, 9),
                right(bill.lazy, 8),
                note,
            ]
        });
        let header = ["CLIENT", "   STATIC", "PEGBOARD", "NOTE"];
        let clients = output.table(&header, clients.collect(), None);
        format!("{servers}\n\n{summary}\n\n{answers}\n\n{clients}")
    }
}

/// Formats a number with separators, right-aligned.
fn right(number: usize, width: usize) -> String {
    format!("{:>width$}", thousands(number))
}
