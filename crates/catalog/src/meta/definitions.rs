//! The meta tools: their names, definitions and the instructions that go with them.
//!
//! Nothing here may depend on what is configured or known: clients keep what follows from these bytes in
//! their prompt caches. Definitions and instructions together have a budget of 400 tokens, so the definitions
//! leave out what a model can do without: `search_tools` also takes `queries`, and defaults are not repeated.

use serde_json::{Value, json};

/// Finds tools.
pub const SEARCH: &str = "search_tools";
/// Gives an overview.
pub const LIST: &str = "list_available_tools";
/// Says all about a tool.
pub const DESCRIBE: &str = "get_tool_description";
/// Runs a tool.
pub const CALL: &str = "call_tool";
/// Runs a tool that its server marks as read-only. Clients that run read-only tools without a confirmation, or
/// several at the same time, do so with this one.
pub const CALL_READ_ONLY: &str = "call_readonly_tool";
/// Reads on in a result that was kept aside. It is not listed: the results that need it name it.
pub const READ_RESULT: &str = "read_result";

/// Queries of one search, and tools of one description.
pub const MAX_BATCH: usize = 5;

/// What the server says of itself to models where the meta tools are the only way to other tools.
pub const INSTRUCTIONS: &str = "Find tools with search_tools, see their parameters with \
get_tool_description, run them with call_readonly_tool if marked read-only, else with call_tool.";

/// The sentence that is added where other tools are listed beside the meta tools.
pub const LISTED_TOOLS_HINT: &str = " Tools that are listed can be called directly by name.";

/// The instructions where every tool is listed and the meta tools are not.
pub const DIRECT_INSTRUCTIONS: &str = "Each tool is named server__tool, after its server.";

/// The definitions, each on its own, in the order in which they are listed.
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
    // Codex sends a plain object on as one without properties, which models take to be empty.
    let arguments = json!({"type": "object", "additionalProperties": true});
    let call = json!({
        "type": "object",
        "properties": {"tool_name": text, "arguments": arguments},
        "required": ["tool_name"],
    });
    // Claude Code's own tool search would hide the tools that find all others.
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

/// Whether a name is one of ours.
pub fn is_meta_tool(name: &str) -> bool {
    matches!(name, SEARCH | LIST | DESCRIBE | READ_RESULT) || is_call_tool(name)
}

/// Whether a meta tool runs other tools.
pub fn is_call_tool(name: &str) -> bool {
    matches!(name, CALL | CALL_READ_ONLY)
}
