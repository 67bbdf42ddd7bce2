//! Signatures of tools: the arguments in one line.

use pegboard_model::{Tool, UntrustedText};
use serde_json::{Map, Value};

use crate::argument_errors::kind_of;

/// Maximum number of shown arguments; further ones are counted.
const SHOWN_ARGUMENTS: usize = 24;
/// Maximum number of references, alternatives and lists that are followed to find a type. It also stops cycles.
const MAX_TYPE_DEPTH: usize = 6;
/// Maximum number of shown alternatives.
const SHOWN_TYPES: usize = 4;

/// The signature `name(arg: type, arg?: type)`; a question mark means that the argument is optional.
pub fn signature(tool: &Tool) -> String {
    signature_of(&tool.name, tool.input_schema())
}

/// The signature for a name and the text of a schema.
pub fn signature_of(name: &str, input_schema: &str) -> String {
    let name = UntrustedText::new(name).shortened(128).to_string();
    let Ok(root) = serde_json::from_str::<Value>(input_schema) else {
        return format!("{name}(…)");
    };
    let Some(properties) = root.get("properties").and_then(Value::as_object) else {
        return format!("{name}()");
    };
    let required = root.get("required").and_then(Value::as_array);
    let mut arguments: Vec<String> = properties
        .iter()
        .take(SHOWN_ARGUMENTS)
        .map(|(argument, schema)| {
            let needed = required.is_some_and(|names| names.iter().any(|name| name == argument));
            let mark = if needed { "" } else { "?" };
            let shown = UntrustedText::new(argument).shortened(60);
            format!("{shown}{mark}: {}", type_summary(&root, schema))
        })
        .collect();
    if properties.len() > SHOWN_ARGUMENTS {
        arguments.push(format!("… {} more", properties.len() - SHOWN_ARGUMENTS));
    }
    format!("{name}({})", arguments.join(", "))
}

/// A short name of the type that a schema describes: `string`, `string[]`, `integer|string`, `any`. References are
/// resolved in `root`; the alternative `null` is omitted.
pub fn type_summary(root: &Value, schema: &Value) -> String {
    let mut words = Vec::new();
    collect(root, schema, MAX_TYPE_DEPTH, &mut words);
    let shown: Vec<String> = words.iter().take(SHOWN_TYPES).cloned().collect();
    match (shown.is_empty(), words.len() > SHOWN_TYPES) {
        (true, _) => "any".to_owned(),
        (false, true) => format!("{}|…", shown.join("|")),
        (false, false) => shown.join("|"),
    }
}

fn collect(root: &Value, schema: &Value, depth: usize, words: &mut Vec<String>) {
    let Some(map) = schema.as_object() else {
        return;
    };
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    if words.len() > SHOWN_TYPES {
        return;
    }
    match map.get("type") {
        Some(Value::String(kind)) => add(words, named(root, map, kind, depth)),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            let real = kinds.iter().filter(|kind| **kind != "null");
            real.for_each(|kind| add(words, named(root, map, kind, depth)));
        }
        _ => collect_untyped(root, map, depth, words),
    }
}

fn collect_untyped(root: &Value, map: &Map<String, Value>, depth: usize, words: &mut Vec<String>) {
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        if let Some(found) = target
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer))
        {
            collect(root, found, depth, words);
        }
        return;
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
            let real = branches
                .iter()
                .filter(|branch| branch.get("type") != Some(&Value::from("null")));
            real.take(64)
                .for_each(|branch| collect(root, branch, depth, words));
            return;
        }
    }
    if let Some(value) = map
        .get("const")
        .or_else(|| map.get("enum")?.as_array()?.first())
    {
        add(words, kind_of(value).to_owned());
    } else if map.contains_key("properties") {
        add(words, "object".to_owned());
    } else if map.contains_key("items") {
        add(words, named(root, map, "array", depth));
    }
}

fn named(root: &Value, map: &Map<String, Value>, kind: &str, depth: usize) -> String {
    if kind != "array" {
        return UntrustedText::new(kind).shortened(20).to_string();
    }
    let mut inner = Vec::new();
    if let Some(items) = map.get("items") {
        collect(root, items, depth, &mut inner);
    }
    match inner.as_slice() {
        [one] => format!("{one}[]"),
        [] => "array".to_owned(),
        several => format!("({})[]", several.join("|")),
    }
}

fn add(words: &mut Vec<String>, word: String) {
    if !words.contains(&word) {
        words.push(word);
    }
}
