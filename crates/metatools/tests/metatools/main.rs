//! The texts that models read, counted by a real tokenizer.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a broken fixture must fail its test"
)]

mod context;
mod describing;
#[allow(dead_code, reason = "shared with the catalog's tests")]
#[path = "../../../catalog/tests/catalog/fixture.rs"]
mod fixture;
mod hostile;
mod listing;
mod running;
mod searching;
mod servers;

use pegboard_catalog::Catalog;
use serde_json::{Value, json};

use crate::fixture::{configured, spec};

/// Returns the exact number of o200k tokens.
pub(crate) fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(text)
        .len()
}

/// Builds a catalog; `define` returns the name and description of a tool.
pub(crate) fn catalog_of(
    servers: usize,
    tools: usize,
    define: impl Fn(usize, usize) -> (String, String),
) -> Catalog {
    let entries = (0..servers).map(|server| {
        let definitions: Vec<Value> = (0..tools)
            .map(|tool| {
                let (name, description) = define(server, tool);
                json!({"name": name, "description": description})
            })
            .collect();
        configured(spec(&format!("server_{server}")), &definitions)
    });
    entries.collect()
}

/// Ordinary tools: a verb, a thing and a number.
pub(crate) fn ordinary(server: usize, tool: usize) -> (String, String) {
    const VERBS: [&str; 6] = ["create", "list", "update", "delete", "search", "get"];
    const THINGS: [&str; 9] = [
        "issue", "file", "message", "user", "invoice", "branch", "calendar", "table", "page",
    ];
    let (verb, thing) = (
        VERBS[tool % VERBS.len()],
        THINGS[(tool / VERBS.len()) % THINGS.len()],
    );
    let round = tool / (VERBS.len() * THINGS.len());
    let name = if round == 0 {
        format!("{verb}_{thing}")
    } else {
        format!("{verb}_{thing}_{round}")
    };
    let description = format!("{verb} a {thing} in workspace {server} and return what came of it.");
    (name, description)
}

/// A small catalog with everything that the texts show.
pub(crate) fn small() -> Catalog {
    let github = [
        json!({"name": "create_issue", "description": "Open a new issue in a repository. Returns its number.",
            "inputSchema": {"type": "object", "required": ["owner", "title"], "properties": {
                "owner": {"type": "string", "description": "Who has the repository."},
                "labels": {"type": "array", "items": {"type": "string"}},
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed"], "default": "open"}}}}),
        json!({"name": "close_issue", "description": "Close an issue.",
            "annotations": {"destructiveHint": true, "readOnlyHint": false},
            "inputSchema": {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}}}),
        json!({"name": "search_code", "description": "Search for code.", "annotations": {"readOnlyHint": true}}),
    ];
    let mail = [
        json!({"name": "send", "description": "Send an e-mail to a person about an issue.",
        "inputSchema": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}, "cc": {"type": "string"}}}}),
    ];
    [
        configured(spec("github"), &github),
        configured(spec("mail"), &mail),
    ]
    .into_iter()
    .collect()
}
