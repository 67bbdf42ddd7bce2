//! The four tools that stand for all others: their definitions.
//!
//! Nothing here may depend on what is configured or known: clients keep what follows from these bytes in
//! their prompt caches.

use serde_json::{Value, json};

/// Finds tools.
pub const SEARCH: &str = "search_tools";
/// Gives an overview.
pub const LIST: &str = "list_available_tools";
/// Says all about a tool.
pub const DESCRIBE: &str = "get_tool_description";
/// Runs a tool.
pub const CALL: &str = "call_tool";
/// Reads on in a result that was kept aside. It is not listed: the results that need it name it.
pub const READ_RESULT: &str = "read_result";

/// Queries of one search, and tools of one description.
pub const AT_ONCE: usize = 5;

/// What the server says of itself to models.
pub const INSTRUCTIONS: &str = "Many tools are within reach through these four. \
Find one with search_tools, see its parameters with get_tool_description, run it with call_tool. \
Known tools may also be called directly by name.";

/// The definitions, each on its own, in the order in which they are listed.
pub fn definitions() -> [Value; 4] {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text, "maxItems": AT_ONCE});
    let read_only = json!({"readOnlyHint": true});
    [
        json!({
            "name": SEARCH,
            "description": "Find tools by what they should do or by name. Each line of the answer: \
                            name(arguments) — summary.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": text,
                    "queries": texts,
                    "limit": {"type": "integer", "default": 5},
                    "detail": {"type": "string", "enum": ["brief", "signature", "full"]},
                },
            },
            "annotations": read_only,
        }),
        json!({
            "name": LIST,
            "description": "Overview of all tools, or of one category or server.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "category": text,
                    "include_disabled": {"type": "boolean"},
                    "format": {"type": "string", "enum": ["text", "json"]},
                },
            },
            "annotations": read_only,
        }),
        json!({
            "name": DESCRIBE,
            "description": "Description, parameters and examples of one tool or several.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "tool_name": text,
                    "tool_names": texts,
                    "include_examples": {"type": "boolean", "default": true},
                },
            },
            "annotations": read_only,
        }),
        json!({
            "name": CALL,
            "description": "Run a tool by its name.",
            "inputSchema": {
                "type": "object",
                "properties": {"tool_name": text, "arguments": {"type": "object"}},
                "required": ["tool_name"],
            },
        }),
    ]
}

/// Whether a name is one of ours.
pub fn is_meta_tool(name: &str) -> bool {
    matches!(name, SEARCH | LIST | DESCRIBE | CALL | READ_RESULT)
}
