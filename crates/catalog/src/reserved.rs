//! Names reserved for the meta tools. They never resolve to a server's tool.

/// Searches for tools.
pub const SEARCH: &str = "search_tools";
/// Lists tools.
pub const LIST: &str = "list_available_tools";
/// Describes tools.
pub const DESCRIBE: &str = "get_tool_description";
/// Calls a tool.
pub const CALL: &str = "call_tool";
/// Calls a tool that its server marks as read-only. Clients that run read-only tools without confirmation, or in
/// parallel, do so with this one.
pub const CALL_READ_ONLY: &str = "call_readonly_tool";
/// Reads a stored result in parts. It is not listed; shortened results name it.
pub const READ_RESULT: &str = "read_result";

/// Returns whether a name is reserved for a meta tool.
pub fn is_meta_tool(name: &str) -> bool {
    matches!(name, SEARCH | LIST | DESCRIBE | READ_RESULT) || is_call_tool(name)
}

/// Returns whether a meta tool calls other tools.
pub fn is_call_tool(name: &str) -> bool {
    matches!(name, CALL | CALL_READ_ONLY)
}
