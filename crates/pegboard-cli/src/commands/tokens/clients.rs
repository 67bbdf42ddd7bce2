//! What well-known clients send to their models, as far as it is published.

use serde::Serialize;

use super::shapes::{Naming, Shape, ToolParts, render_tool};
use super::tokenizer::tokens_of_each;

/// A client and its known behavior.
struct Client {
    name: &'static str,
    shape: Shape,
    naming: Naming,
    /// The maximum number of tools.
    limit: Option<usize>,
    note: &'static str,
}

/// The clients, with the shape in which each sends tools, its limits, and its own measures against too many tools.
const CLIENTS: &[Client] = &[
    Client::new("Claude Code", Shape::Anthropic, Naming::DoubleUnderscore)
        .noted("without its own tool search"),
    Client::new("Claude Desktop", Shape::Anthropic, Naming::Plain),
    Client::new("Cursor", Shape::Name, Naming::Plain).noted("names only; the rest in files"),
    Client::new("VS Code", Shape::Listed, Naming::Plain).taking(128),
    Client::new("Windsurf", Shape::Listed, Naming::Plain).taking(100),
    Client::new("Codex", Shape::OpenAi, Naming::DoubleUnderscore),
    Client::new("Gemini CLI", Shape::Gemini, Naming::Underscore),
    Client::new("Anthropic API", Shape::Anthropic, Naming::Plain),
    Client::new("OpenAI API", Shape::OpenAi, Naming::Plain),
];

impl Client {
    const fn new(name: &'static str, shape: Shape, naming: Naming) -> Self {
        Self {
            name,
            shape,
            naming,
            limit: None,
            note: "",
        }
    }

    const fn taking(self, limit: usize) -> Self {
        Self {
            limit: Some(limit),
            ..self
        }
    }

    const fn noted(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

/// The tokens that a client's model reads before the first question.
#[derive(Debug, Serialize)]
pub(super) struct ClientCost {
    pub(super) client: &'static str,
    /// Tokens of all definitions.
    #[serde(rename = "static")]
    pub(super) pushed: usize,
    /// Tokens of Pegboard's own tools and instructions.
    pub(super) lazy: usize,
    /// The maximum number of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_limit: Option<usize>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) note: &'static str,
}

/// Counts the tokens for each client. All clients are assumed to forward the instructions, which have `instructions`
/// tokens.
pub(super) fn client_costs(
    tools: &[ToolParts<'_>],
    meta: &[ToolParts<'_>],
    instructions: usize,
) -> Vec<ClientCost> {
    let mut counted: Vec<(Shape, Naming, usize, usize)> = Vec::new();
    let mut client_costs = Vec::new();
    for client in CLIENTS {
        let (shape, naming) = (client.shape, client.naming);
        let known = counted
            .iter()
            .find(|(of, by, _, _)| (*of, *by) == (shape, naming))
            .copied();
        let (_, _, pushed, lazy) = known.unwrap_or_else(|| {
            let total = |pieces| {
                tokens_of_each(pieces, |piece| render_tool(piece, shape, naming))
                    .iter()
                    .sum()
            };
            let entry = (shape, naming, total(tools), total(meta));
            counted.push(entry);
            entry
        });
        client_costs.push(ClientCost {
            client: client.name,
            pushed,
            lazy: lazy + instructions,
            tool_limit: client.limit,
            note: client.note,
        });
    }
    client_costs
}
