//! Anthropic Messages.

use serde_json::Value;

use super::{Findings, schema};

pub(super) fn tool(tool: &Value, deferred: bool, found: &mut Findings) {
    let known = [
        "name",
        "description",
        "input_schema",
        "input_examples",
        "defer_loading",
    ];
    found.keys(tool, "", &known);
    // Tool names may have 128 characters, but references to tools only 64.
    found.name(tool.get("name"), "/name", "-", 64);
    found.description(tool, "/description");
    found.unless(
        tool.get("defer_loading").is_some_and(|d| *d == true) == deferred,
        "/defer_loading",
        "`true` only in the deferred format",
    );
    let Some(input) = tool.get("input_schema") else {
        found.add("", "`input_schema` is present");
        return;
    };
    let path = "/input_schema";
    schema::object_root(input, path, &["anyOf", "oneOf", "allOf"], found);
    schema::root_names(input, path, found);
    schema::valid(input, path, found);
    if let Some(examples) = tool.get("input_examples") {
        let fit = examples.as_array().is_some_and(|list| {
            let validator = jsonschema::draft202012::new(input);
            !list.is_empty()
                && list
                    .iter()
                    .all(|e| e.is_object() && validator.as_ref().is_ok_and(|v| v.is_valid(e)))
        });
        found.unless(fit, "/input_examples", "objects that match the schema");
    }
}
