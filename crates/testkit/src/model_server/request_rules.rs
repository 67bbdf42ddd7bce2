//! Validation of the real services: calls without results, results without calls, and invalid tools.

use std::collections::BTreeSet;

use pegboard_formats::Format;
use serde_json::Value;

use crate::provider_rules::check_tool;

/// The violated rules of a request to Anthropic.
pub(super) fn anthropic(request: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, rule: String| {
        if !holds {
            broken.push(rule);
        }
    };
    rule(
        request["max_tokens"]
            .as_u64()
            .is_some_and(|tokens| tokens > 0),
        "`max_tokens` is missing".to_owned(),
    );
    rule(
        request["model"].is_string(),
        "`model` is missing".to_owned(),
    );
    let empty = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&empty);
    rule(
        messages
            .first()
            .is_some_and(|first| first["role"] == "user"),
        "the first message is not the user's".to_owned(),
    );
    let mut pending: Vec<String> = Vec::new();
    let deferred = deferred_names(request);
    for (place, message) in messages.iter().enumerate() {
        let blocks = message["content"].as_array().unwrap_or(&empty);
        let role = message["role"].as_str().unwrap_or_default();
        let is_text = message["content"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        rule(
            is_text || !blocks.is_empty(),
            format!("message {place} is empty"),
        );
        let results: Vec<&Value> = blocks
            .iter()
            .take_while(|block| block["type"] == "tool_result")
            .collect();
        let answered: Vec<String> = results
            .iter()
            .map(|block| text(&block["tool_use_id"]))
            .collect();
        rule(
            sorted(&answered) == sorted(&pending),
            format!("message {place}: calls {pending:?} are answered by {answered:?}"),
        );
        let all = blocks.iter().filter(|block| block["type"] == "tool_result");
        rule(
            all.count() == results.len(),
            format!("message {place}: results come after other blocks"),
        );
        for block in blocks {
            let kind = block["type"].as_str().unwrap_or_default();
            let is_empty = kind == "text" && block["text"].as_str().is_none_or(str::is_empty);
            rule(!is_empty, format!("message {place} has an empty text"));
            if kind == "tool_use" {
                rule(
                    role == "assistant",
                    format!("message {place}: a call by the user"),
                );
                rule(
                    block["input"].is_object(),
                    format!("message {place}: `input` is not an object"),
                );
            }
        }
        let references = results
            .iter()
            .flat_map(|block| block["content"].as_array().unwrap_or(&empty))
            .filter(|part| part["type"] == "tool_reference");
        for reference in references {
            let name = text(&reference["tool_name"]);
            rule(
                deferred.contains(&name),
                format!("`{name}` is referenced and was not sent"),
            );
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        pending = calls.map(|block| text(&block["id"])).collect();
        let unique: BTreeSet<&String> = pending.iter().collect();
        rule(
            unique.len() == pending.len(),
            format!("message {place}: a duplicate id"),
        );
    }
    rule(
        pending.is_empty(),
        format!("calls {pending:?} have no result"),
    );
    broken.extend(tools(
        &request["tools"],
        Format::Anthropic,
        Format::AnthropicDeferred,
    ));
    broken
}

/// The violated rules of a request to OpenAI.
pub(super) fn openai(request: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, rule: String| {
        if !holds {
            broken.push(rule);
        }
    };
    rule(
        request["model"].is_string(),
        "`model` is missing".to_owned(),
    );
    let empty = Vec::new();
    let items = request["input"].as_array().unwrap_or(&empty);
    rule(!items.is_empty(), "`input` is empty".to_owned());
    let mut pending: Vec<(String, &str)> = Vec::new();
    let mut found_tools = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        let id = text(&item["call_id"]);
        match kind {
            "function_call" | "tool_search_call" => {
                rule(
                    !pending.iter().any(|(known, _)| *known == id),
                    format!("item {place}: duplicate id `{id}`"),
                );
                pending.push((id, kind));
            }
            "function_call_output" | "tool_search_output" => {
                let call = match kind {
                    "function_call_output" => "function_call",
                    _ => "tool_search_call",
                };
                let known = pending
                    .iter()
                    .position(|(known, kind)| *known == id && *kind == call);
                rule(
                    known.is_some(),
                    format!("item {place}: `{id}` belongs to no call"),
                );
                if let Some(known) = known {
                    pending.remove(known);
                }
                found_tools.extend(item["tools"].as_array().cloned().unwrap_or_default());
            }
            _ => {}
        }
        if kind == "message" && item["role"] == "user" {
            rule(
                pending.is_empty(),
                format!("item {place}: a user message before the results of {pending:?}"),
            );
        }
    }
    rule(
        pending.is_empty(),
        format!("calls {pending:?} have no result"),
    );
    broken.extend(tools(
        &request["tools"],
        Format::OpenAiResponses,
        Format::OpenAiDeferred,
    ));
    let found = Value::Array(found_tools);
    broken.extend(tools(
        &found,
        Format::OpenAiResponses,
        Format::OpenAiDeferred,
    ));
    broken
}

/// The violated rules of a request to Chat Completions: each call is followed by its result before another message.
pub(super) fn openai_chat(request: &Value) -> Vec<String> {
    let mut broken = Vec::new();
    let mut rule = |holds: bool, rule: String| {
        if !holds {
            broken.push(rule);
        }
    };
    rule(
        request["stream"] != true,
        "the scripted model does not stream chat completions".to_owned(),
    );
    rule(
        request["model"].is_string(),
        "`model` is missing".to_owned(),
    );
    let empty = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&empty);
    rule(!messages.is_empty(), "`messages` is empty".to_owned());
    let mut pending: Vec<String> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let calls = message["tool_calls"].as_array().unwrap_or(&empty);
        let is_empty = message["content"].is_null() && message["refusal"].is_null();
        rule(
            !is_empty || !calls.is_empty(),
            format!("message {place} is empty"),
        );
        if message["role"] == "tool" {
            let id = text(&message["tool_call_id"]);
            let known = pending.iter().position(|known| *known == id);
            rule(
                known.is_some(),
                format!("message {place}: `{id}` belongs to no call"),
            );
            if let Some(known) = known {
                pending.remove(known);
            }
            continue;
        }
        rule(
            pending.is_empty(),
            format!("message {place}: calls {pending:?} have no result"),
        );
        pending = calls.iter().map(|call| text(&call["id"])).collect();
    }
    rule(
        pending.is_empty(),
        format!("calls {pending:?} have no result"),
    );
    let tools = request["tools"].as_array().unwrap_or(&empty);
    for tool in tools {
        for violation in check_tool(tool, Format::OpenAiChat) {
            let name = text(&tool["function"]["name"]);
            broken.push(format!(
                "tool `{name}`{}: {}",
                violation.path, violation.rule
            ));
        }
    }
    broken
}

/// What a service would refuse in `tools`; a name may occur in the results of several searches.
fn tools(tools: &Value, plain: Format, deferred: Format) -> Vec<String> {
    let entries = tools.as_array().cloned().unwrap_or_default();
    let mut broken = Vec::new();
    for entry in &entries {
        let inner = entry["tools"].as_array();
        let all = inner.map_or_else(|| std::slice::from_ref(entry), Vec::as_slice);
        for tool in all {
            let is_search = tool["type"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("tool_search"));
            if is_search {
                continue;
            }
            let format = match tool.get("defer_loading").is_some() {
                true => deferred,
                false => plain,
            };
            for violation in check_tool(tool, format) {
                let name = text(&tool["name"]);
                broken.push(format!(
                    "tool `{name}`{}: {}",
                    violation.path, violation.rule
                ));
            }
        }
    }
    let names = entries.iter().filter(|entry| entry["tools"].is_null());
    let names: Vec<String> = names.map(|entry| text(&entry["name"])).collect();
    let is_answer = entries
        .iter()
        .all(|entry| entry.get("defer_loading").is_some());
    let unique: BTreeSet<&String> = names.iter().collect();
    if !is_answer && unique.len() != names.len() {
        broken.push("two tools have one name".to_owned());
    }
    broken
}

fn deferred_names(request: &Value) -> BTreeSet<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools
        .filter(|tool| tool["defer_loading"] == true)
        .map(|tool| text(&tool["name"]))
        .collect()
}

fn sorted(ids: &[String]) -> Vec<&String> {
    let mut ids: Vec<&String> = ids.iter().collect();
    ids.sort();
    ids
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check_anthropic(messages: Value, expected: &str) {
        let request = json!({"model": "m", "max_tokens": 1, "messages": messages});
        let broken = anthropic(&request).join("; ");
        assert!(broken.contains(expected), "{broken:?} for {messages}");
        assert_eq!(broken.is_empty(), expected.is_empty(), "{broken}");
    }

    #[test]
    fn the_scripted_model_refuses_what_anthropic_refuses() {
        let user = json!({"role": "user", "content": [{"type": "text", "text": "x"}]});
        let call = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "1", "name": "a", "input": {}}]});
        let result = |id: &str| {
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": []}, {"type": "text", "text": "and"}]})
        };
        check_anthropic(json!([user, call, result("1")]), "");
        check_anthropic(json!([user, call, user]), "are answered by []");
        check_anthropic(json!([user, call, result("2")]), "are answered by [\"2\"]");
        check_anthropic(json!([user, result("1")]), "calls [] are answered by");
        check_anthropic(json!([user, call]), "have no result");
        check_anthropic(json!([call, result("1")]), "the first message");
    }

    #[test]
    fn the_scripted_model_refuses_what_openai_refuses() {
        let check = |input: Value, expected: &str| {
            let broken = openai(&json!({"model": "m", "input": input})).join("; ");
            assert!(broken.contains(expected), "{broken:?}");
            assert_eq!(broken.is_empty(), expected.is_empty(), "{broken}");
        };
        let user = json!({"role": "user", "content": "x"});
        let call = json!({"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "1", "output": ""});
        check(json!([user, call, output]), "");
        check(json!([user, call]), "have no result");
        check(json!([user, output]), "belongs to no call");
        check(json!([user, call, user, output]), "a user message before");
    }

    #[test]
    fn the_scripted_model_refuses_what_chat_completions_refuse() {
        let check = |messages: Value, expected: &str| {
            let broken = openai_chat(&json!({"model": "m", "messages": messages})).join("; ");
            assert!(broken.contains(expected), "{broken:?}");
            assert_eq!(broken.is_empty(), expected.is_empty(), "{broken}");
        };
        let user = json!({"role": "user", "content": "x"});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]});
        let output = json!({"role": "tool", "tool_call_id": "1", "content": "y"});
        check(json!([user, call, output]), "");
        check(json!([user, call]), "have no result");
        check(json!([user, output]), "belongs to no call");
        check(json!([user, call, user, output]), "message 2: calls");
        check(json!([{"role": "assistant", "content": null}]), "is empty");
    }
}
