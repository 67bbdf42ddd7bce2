//! Generated tool lists, one file per server.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

const VERBS: [&str; 10] = [
    "create", "list", "update", "delete", "search", "archive", "assign", "export", "merge",
    "publish",
];
const THINGS: [&str; 20] = [
    "issue",
    "branch",
    "document",
    "page",
    "message",
    "channel",
    "customer",
    "invoice",
    "dataset",
    "dashboard",
    "alert",
    "incident",
    "folder",
    "ticket",
    "sprint",
    "contact",
    "campaign",
    "order",
    "shipment",
    "survey",
];

/// The size of a tool definition.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// About 1 kB.
    One,
    /// About 2 kB, the average of real tools.
    Two,
}

/// Writes a tool list for each server and returns the files.
pub(crate) fn write_lists(folder: &Path, servers: usize, tools: usize, size: Size) -> Vec<PathBuf> {
    let path = |server: usize| folder.join(format!("list_{server}.json"));
    for server in 0..servers {
        let tool = |tool: usize| match size {
            Size::One => small(server, tool),
            Size::Two => large(server, tool),
        };
        let tools: Vec<Value> = (0..tools).map(tool).collect();
        let text = json!({ "tools": tools }).to_string();
        std::fs::write(path(server), text).expect("a list");
    }
    (0..servers).map(path).collect()
}

/// The name of the first tool of each server of small tools.
pub(crate) fn first_tool(server: usize) -> String {
    name(server, 0)
}

fn words(server: usize, tool: usize) -> (&'static str, &'static str) {
    let verb = VERBS.get(tool % VERBS.len()).copied().unwrap_or_default();
    let thing = (server * 3 + tool / VERBS.len()) % THINGS.len();
    (verb, THINGS.get(thing).copied().unwrap_or_default())
}

fn name(server: usize, tool: usize) -> String {
    let (verb, thing) = words(server, tool);
    format!("{verb}_{thing}_{tool}")
}

fn small(server: usize, tool: usize) -> Value {
    let (verb, thing) = words(server, tool);
    json!({
        "name": name(server, tool),
        "description": format!("{verb} a {thing} in workspace {server}. Use this tool when the user asks to {verb} one or more {thing} entries; it answers with the {thing}, its identifier, its state and its dates. It needs the right to write in the workspace. Not for more than 100 entries at once."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": format!("The {thing}, as search_{thing} names it")},
                "title": {"type": "string", "maxLength": 200, "description": format!("The title of the {thing}, up to 200 characters")},
                "state": {"type": "string", "enum": ["open", "closed", "draft", "archived"], "description": format!("The state that the {thing} gets")},
                "labels": {"type": "array", "items": {"type": "string"}, "description": "Labels that are put on it"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "The largest number of entries in the answer"},
            },
            "required": [],
        },
        "annotations": {"title": format!("{verb} {thing}"), "readOnlyHint": false},
    })
}

fn large(server: usize, tool: usize) -> Value {
    let filler = "Works on the records of the project and answers with what it found. ".repeat(12);
    let properties: Map<String, Value> = (0..8)
        .map(|index| {
            let property = json!({"type": "string", "description": format!("Part {index} of the request; left out, everything counts.")});
            (format!("part_{index}"), property)
        })
        .collect();
    json!({
        "name": format!("work_on_record_{tool}"),
        "description": format!("Tool {tool} of server {server}. {filler}"),
        "inputSchema": {"type": "object", "properties": properties, "required": ["part_0"]},
    })
}
