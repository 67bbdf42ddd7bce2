//! Tool search by the caller, in the formats of the providers.
//!
//! The tools are not in the prompt. The model calls the search tool; the caller searches its catalog and returns the
//! tools themselves (OpenAI) or their names (Anthropic, which received the definitions with `defer_loading`).

use serde_json::{Value, json};

/// The name of the search tool, for formats that need one.
pub const SEARCH_TOOL_NAME: &str = "search_tools";

/// Maximum number of tools per result, so that the prompt stays small.
const MAX_RESULTS: usize = 20;

const DESCRIPTION: &str = "Finds tools by what they do and makes them callable. Say in a few words what you \
     need, for example `close an issue`.";

/// The search tool for Anthropic's `tools`. It is not deferred.
pub fn anthropic_search_tool() -> Value {
    json!({
        "name": SEARCH_TOOL_NAME,
        "description": DESCRIPTION,
        "input_schema": parameters(),
    })
}

/// The `tool_result` block for Anthropic: references to the found tools, which the service adds to the prompt. The names
/// are those of the sent definitions.
pub fn anthropic_search_result<'a>(
    tool_use_id: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Value {
    let references: Vec<Value> = names
        .into_iter()
        .take(MAX_RESULTS)
        .map(|name| json!({"type": "tool_reference", "tool_name": name}))
        .collect();
    let content = if references.is_empty() {
        json!([{"type": "text", "text": "No matching tool. Try other words."}])
    } else {
        Value::Array(references)
    };
    json!({"type": "tool_result", "tool_use_id": tool_use_id, "content": content})
}

/// The search tool for OpenAI's `tools`.
pub fn openai_search_tool() -> Value {
    json!({
        "type": "tool_search",
        "execution": "client",
        "description": DESCRIPTION,
        "parameters": parameters(),
    })
}

/// The output item for OpenAI: the found tools. `tools` are entries as [`crate::definitions`] creates them for
/// `openai-deferred`, functions or namespaces.
pub fn openai_search_result(call_id: &str, tools: impl IntoIterator<Item = Value>) -> Value {
    let tools: Vec<Value> = tools.into_iter().take(MAX_RESULTS).collect();
    json!({
        "type": "tool_search_output",
        "call_id": call_id,
        "execution": "client",
        "status": "completed",
        "tools": tools,
    })
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What the tool should do."},
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_reg_07_search_results_have_the_format_of_the_provider() {
        let result = anthropic_search_result("toolu_1", ["a__b"]);
        assert_eq!(
            result["content"],
            json!([{"type": "tool_reference", "tool_name": "a__b"}])
        );
        let none = anthropic_search_result("toolu_1", []);
        assert_eq!(none["content"][0]["type"], "text");
        let result = openai_search_result("call_1", [json!({"type": "function"})]);
        assert_eq!(result["type"], "tool_search_output");
        assert_eq!(result["tools"].as_array().map(Vec::len), Some(1));
    }
}
