//! Searches that the caller runs, in the providers' own forms.
//!
//! The tools wait outside the prompt. The model asks the search tool, the caller looks into its catalog and
//! answers with the tools themselves (OpenAI) or with their names (Anthropic, which was sent the definitions
//! with `defer_loading`).

use serde_json::{Value, json};

/// The name of the search tool where it needs one.
pub const SEARCH_TOOL_NAME: &str = "search_tools";

/// How many tools one answer may name: more would fill the prompt that deferring keeps free.
const MAX_RESULTS: usize = 20;

const DESCRIPTION: &str = "Finds tools by what they do and makes them callable. Say in a few words what you \
     need, for example `close an issue`.";

/// The search tool for Anthropic's `tools`. It is not deferred itself.
pub fn anthropic_search_tool() -> Value {
    json!({
        "name": SEARCH_TOOL_NAME,
        "description": DESCRIPTION,
        "input_schema": parameters(),
    })
}

/// The `tool_result` block that answers Anthropic's model: references to the tools that were found, which the
/// service then writes into the prompt. Names are those of the definitions that were sent.
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
        json!([{"type": "text", "text": "No tool fits. Try other words."}])
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

/// The item that answers OpenAI's model: the tools that were found. `tools` are entries as
/// [`crate::definitions`] makes them for `openai-deferred`, functions or namespaces.
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
    fn r_reg_07_search_answers_have_the_providers_own_form() {
        let answer = anthropic_search_result("toolu_1", ["a__b"]);
        assert_eq!(
            answer["content"],
            json!([{"type": "tool_reference", "tool_name": "a__b"}])
        );
        let none = anthropic_search_result("toolu_1", []);
        assert_eq!(none["content"][0]["type"], "text");
        let answer = openai_search_result("call_1", [json!({"type": "function"})]);
        assert_eq!(answer["type"], "tool_search_output");
        assert_eq!(answer["tools"].as_array().map(Vec::len), Some(1));
    }
}
