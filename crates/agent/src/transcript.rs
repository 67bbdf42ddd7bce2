//! Finds the tool calls in messages of any provider.

use pegboard_catalog::Catalog;
use pegboard_metatools::{is_call_tool, is_meta_tool};
use pegboard_model::ServerName;
use serde::Serialize;
use serde_json::Value;

/// Nesting depth that is searched.
const MAX_DEPTH: usize = 16;
/// Maximum number of calls that are returned.
const MAX_CALLS: usize = 10_000;

/// A tool that a model called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalledTool {
    /// The exposed name, or the name that the model wrote if the tool is unknown.
    pub tool: String,
    /// The tool's server; `None` for static tools and unknown ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
}

/// Returns the tools that are called in messages of Anthropic, OpenAI (Responses and Chat), Gemini or Bedrock, in
/// order, once per call. A call through `call_tool` or `call_readonly_tool` counts as a call of the tool that it
/// names; other meta tools are left out.
pub fn called_tools(messages: &Value, catalog: &Catalog) -> Vec<CalledTool> {
    let mut calls = Vec::new();
    collect(messages, MAX_DEPTH, &mut calls);
    let seen = calls.into_iter().filter_map(|(name, arguments)| {
        let name = match name {
            name if is_call_tool(name) => called_through(&arguments)?.to_owned(),
            name if is_meta_tool(name) => return None,
            name => name.to_owned(),
        };
        Some(match catalog.find(&name) {
            Ok(view) => CalledTool {
                tool: view.exposed().to_string(),
                server: view.server().cloned(),
            },
            Err(_) => CalledTool {
                tool: name,
                server: None,
            },
        })
    });
    seen.collect()
}

/// Returns the tool named in the arguments of `call_tool` or `call_readonly_tool`.
pub(crate) fn called_through(arguments: &Value) -> Option<&str> {
    let names = ["tool_name", "name", "tool"];
    names.iter().find_map(|name| arguments.get(name)?.as_str())
}

fn collect<'a>(value: &'a Value, depth: usize, calls: &mut Vec<(&'a str, Value)>) {
    if depth == 0 || calls.len() >= MAX_CALLS {
        return;
    }
    match value {
        Value::Array(list) => {
            for value in list {
                collect(value, depth - 1, calls);
            }
        }
        Value::Object(map) => match call(value) {
            Some(call) => calls.push(call),
            None => {
                for value in map.values() {
                    collect(value, depth - 1, calls);
                }
            }
        },
        _ => {}
    }
}

/// Returns the name and arguments if an object is a call in one of the providers' formats.
fn call(object: &Value) -> Option<(&str, Value)> {
    let member = |key: &str| object.get(key);
    let kind = member("type").and_then(Value::as_str);
    let (holder, key) = match kind {
        Some("tool_use") => (object, "input"),
        Some("function_call") => (object, "arguments"),
        _ => {
            let forms = [
                ("function", "arguments"),
                ("functionCall", "args"),
                ("toolUse", "input"),
            ];
            let form = forms.into_iter();
            let mut form = form.filter_map(|(holder, key)| Some((member(holder)?, key)));
            form.find(|(holder, key)| holder.get(key).is_some())?
        }
    };
    let name = holder.get("name")?.as_str()?;
    let arguments = match holder.get(key) {
        // OpenAI encodes them as a string.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
        Some(value) => value.clone(),
        None => Value::Null,
    };
    Some((name, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(messages: Value, expected: &[&str]) {
        let seen = called_tools(&messages, &Catalog::default());
        let names: Vec<&str> = seen.iter().map(|seen| seen.tool.as_str()).collect();
        assert_eq!(names, expected, "{messages}");
    }

    #[test]
    fn r_agent_03_calls_are_found_in_messages_of_every_provider() {
        check(
            json!([{"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "1", "name": "git__log", "input": {"function": {"arguments": 1}}},
                {"type": "tool_use", "id": "2", "name": "call_tool", "input": {"tool_name": "git/status"}},
                {"type": "tool_use", "id": "3", "name": "search_tools", "input": {}},
                {"type": "tool_use", "id": "4", "name": "call_readonly_tool", "input": {"tool_name": "git/show"}},
            ]}]),
            &["git__log", "git/status", "git/show"],
        );
        check(
            json!([{"type": "function_call", "call_id": "c", "name": "call_tool",
                    "arguments": "{\"name\":\"a__b\"}"}]),
            &["a__b"],
        );
        check(
            json!([{"role": "assistant", "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "a__b", "arguments": "{}"}}]}]),
            &["a__b"],
        );
        check(
            json!([{"role": "model", "parts": [{"functionCall": {"name": "a__b", "args": {}}}]}]),
            &["a__b"],
        );
        check(
            json!([{"role": "assistant", "content": [{"toolUse": {"name": "a__b", "input": {}}}]}]),
            &["a__b"],
        );
        check(
            json!({"tools": [{"type": "function", "name": "a__b"}]}),
            &[],
        );
        check(json!("words"), &[]);
    }
}
