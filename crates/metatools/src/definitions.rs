//! The definitions of the meta tools and the instructions that go with them.
//!
//! Nothing here may depend on the configuration or the catalog, because clients keep these bytes in their prompt
//! caches. Definitions and instructions share a budget of 400 tokens, so the definitions leave out what a model
//! can do without: `search_tools` also takes `queries`, and defaults are not repeated.

use pegboard_catalog::reserved::{CALL, CALL_READ_ONLY, DESCRIBE, LIST, SEARCH};
use serde_json::{Value, json};

/// Server instructions when the meta tools are the only way to call tools.
pub const INSTRUCTIONS: &str = "Find tools with search_tools, see their parameters with \
get_tool_description, run them with call_readonly_tool if marked read-only, else with call_tool.";

/// Addition to the instructions when other tools are listed as well.
pub const LISTED_TOOLS_HINT: &str = " Tools that are listed can be called directly by name.";

/// Server instructions when all tools are listed and the meta tools are not.
pub const DIRECT_INSTRUCTIONS: &str = "Each tool is named server__tool, after its server.";

/// Returns the definitions of the meta tools, in list order.
pub fn definitions() -> [Value; 5] {
    let text = json!({"type": "string"});
    let yes_or_no = json!({"type": "boolean"});
    let format = json!({"type": "string", "enum": ["text", "json"]});
    let search = json!({
        "query": text,
        "limit": {"type": "integer"},
        "detail": {"type": "string", "enum": ["brief", "signature", "full"]},
    });
    let list = json!({"category": text, "include_disabled": yes_or_no, "format": format});
    let describe = json!({
        "tool_name": text,
        "tool_names": {"type": "array", "items": text},
        "include_examples": yes_or_no,
        "format": format,
    });
    // Codex turns a plain object into one without properties, which models take to be empty.
    let arguments = json!({"type": "object", "additionalProperties": true});
    let call = json!({
        "type": "object",
        "properties": {"tool_name": text, "arguments": arguments},
        "required": ["tool_name"],
    });
    // Keeps Claude Code's tool search from hiding the tools that find all others.
    let always = json!({"anthropic/alwaysLoad": true});
    let reading = |name: &str, description: &str, schema: Value| {
        json!({
            "name": name,
            "description": description,
            "inputSchema": schema,
            "annotations": {"readOnlyHint": true},
            "_meta": always,
        })
    };
    let optional = |properties: Value| json!({"type": "object", "properties": properties});
    [
        reading(SEARCH, "Find tools by task or name.", optional(search)),
        reading(
            LIST,
            "Overview of all tools, a category or a server.",
            optional(list),
        ),
        reading(
            DESCRIBE,
            "Parameters and examples of tools.",
            optional(describe),
        ),
        json!({"name": CALL, "description": "Run a tool.", "inputSchema": call, "_meta": always}),
        reading(CALL_READ_ONLY, "Run a tool marked read-only.", call),
    ]
}
