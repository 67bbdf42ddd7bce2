//! Decodes what a client sent to the model, for each provider's protocol.

use std::collections::BTreeMap;

use pegboard_testkit::ModelRequest;
use serde_json::Value;

/// A tool as a client offers it to the model.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) description: String,
    pub(crate) schema: Value,
    /// Whether loading is deferred until a tool search returns it.
    pub(crate) is_deferred: bool,
}

/// The tools that a request offers, out of their namespaces and groups.
pub(crate) fn offered(request: &ModelRequest) -> Vec<Offered> {
    let entries = request.body["tools"].as_array().into_iter().flatten();
    let tools = entries.flat_map(|entry| {
        let group = ["tools", "functionDeclarations"].iter();
        let mut group = group.filter_map(|key| entry[*key].as_array());
        match group.next() {
            Some(inner) => inner
                .iter()
                .map(|tool| (tool, entry["name"].as_str()))
                .collect(),
            None => vec![(entry, None)],
        }
    });
    tools
        .map(|(tool, namespace)| offered_tool(tool, namespace))
        .collect()
}

fn offered_tool(tool: &Value, namespace: Option<&str>) -> Offered {
    let schemas = ["input_schema", "parameters", "parametersJsonSchema"];
    let schema = schemas.iter().find_map(|key| tool.get(*key));
    Offered {
        name: text(&tool["name"]),
        namespace: namespace.map(str::to_owned),
        description: text(&tool["description"]),
        schema: schema.cloned().unwrap_or_default(),
        is_deferred: tool["defer_loading"] == true,
    }
}

/// The results of all calls so far, as texts by the id of the call.
pub(crate) fn results(request: &ModelRequest) -> BTreeMap<String, String> {
    let body = &request.body;
    match request.path {
        "/v1/messages" => blocks(&body["messages"], "content")
            .filter(|block| block["type"] == "tool_result")
            .map(|block| (text(&block["tool_use_id"]), joined(&block["content"])))
            .collect(),
        "/v1/responses" => body["input"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|item| item["type"] == "function_call_output")
            .map(|item| (text(&item["call_id"]), joined(&item["output"])))
            .collect(),
        _ => blocks(&body["contents"], "parts")
            .filter_map(|part| part.get("functionResponse"))
            .map(|response| (text(&response["id"]), texts(&response["response"])))
            .collect(),
    }
}

/// The texts of an object, for example of `{"output": …}` or `{"error": …}`.
fn texts(object: &Value) -> String {
    let values = object.as_object().into_iter().flatten();
    let texts: Vec<String> = values.map(|(_, value)| joined(value)).collect();
    texts.join("\n")
}

fn blocks<'a>(messages: &'a Value, key: &'a str) -> impl Iterator<Item = &'a Value> {
    let messages = messages.as_array().into_iter().flatten();
    messages.flat_map(move |message| message[key].as_array().into_iter().flatten())
}

/// A text, or the texts of a list of blocks.
fn joined(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| text(&part["text"])).collect();
            parts.join("\n")
        }
        other => other.to_string(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
