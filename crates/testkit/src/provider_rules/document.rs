//! Rules for the complete list of tools.

use std::collections::BTreeSet;

use pegboard_formats::Format;
use serde_json::Value;

use super::{Findings, Violation, check_tool, step};

/// Returns the rules that the value of a request's `tools` violates; the provider would reject the request.
pub fn check_tools(document: &Value, format: Format) -> Vec<Violation> {
    let mut found = Findings::default();
    let Value::Array(entries) = document else {
        found.add("", "a list");
        return found.violations;
    };
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut loaded = 0_usize;
    for (path, tool) in tools(entries, format, &mut found) {
        if is_search(tool, format) {
            loaded += 1;
            continue;
        }
        for violation in check_tool(tool, format) {
            found.add(&format!("{path}{}", violation.path), violation.rule);
        }
        let name = ["/name", "/function/name", "/toolSpec/name"]
            .into_iter()
            .find_map(|pointer| tool.pointer(pointer).and_then(Value::as_str));
        found.unless(
            name.is_some_and(|name| names.insert(name.to_owned())),
            &path,
            "a name that no other tool has",
        );
    }
    found.unless(
        !format.is_deferred() || loaded == 1,
        "",
        "exactly one search tool, which is not deferred",
    );
    found.violations
}

/// All tools with their JSON pointers.
fn tools<'a>(
    entries: &'a [Value],
    format: Format,
    found: &mut Findings,
) -> Vec<(String, &'a Value)> {
    let mut tools = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let path = step("", &index.to_string());
        let inner = match format {
            Format::Gemini => Some("functionDeclarations"),
            Format::OpenAiDeferred if entry.get("type").is_some_and(|t| t == "namespace") => {
                found.name(entry.get("name"), &step(&path, "name"), "-", 64);
                found.unless(
                    entry
                        .get("description")
                        .and_then(Value::as_str)
                        .is_some_and(|d| !d.is_empty()),
                    &path,
                    "a namespace has a description",
                );
                Some("tools")
            }
            _ => None,
        };
        match inner {
            None => tools.push((path, entry)),
            Some(field) => match entry.get(field).and_then(Value::as_array) {
                Some(list) if !list.is_empty() => {
                    for (index, tool) in list.iter().enumerate() {
                        tools.push((format!("{path}/{field}/{index}"), tool));
                    }
                }
                _ => found.add(&path, format!("`{field}` lists tools")),
            },
        }
    }
    tools
}

fn is_search(tool: &Value, format: Format) -> bool {
    match format {
        Format::AnthropicDeferred => {
            tool.get("type")
                .and_then(Value::as_str)
                .is_some_and(|t| t.starts_with("tool_search_tool"))
                || (tool.get("defer_loading").is_none()
                    && tool
                        .get("name")
                        .is_some_and(|n| n == pegboard_formats::SEARCH_TOOL_NAME))
        }
        Format::OpenAiDeferred => tool.get("type").is_some_and(|t| t == "tool_search"),
        _ => false,
    }
}
