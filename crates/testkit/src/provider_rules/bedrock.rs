//! Bedrock Converse.

use serde_json::Value;

use super::{Findings, schema};

pub(super) fn tool(tool: &Value, found: &mut Findings) {
    found.keys(tool, "", &["toolSpec"]);
    let Some(spec) = tool.get("toolSpec") else {
        return;
    };
    found.keys(spec, "/toolSpec", &["name", "description", "inputSchema"]);
    found.name(spec.get("name"), "/toolSpec/name", "-", 64);
    found.description(spec, "/toolSpec/description");
    let path = "/toolSpec/inputSchema/json";
    let Some(input) = spec.get("inputSchema").and_then(|i| i.get("json")) else {
        found.add(path, "the schema is present");
        return;
    };
    found.keys(input, path, &["type", "properties", "required"]);
    schema::object_root(input, path, &[], found);
    schema::root_names(input, path, found);
    schema::valid(input, path, found);
    schema::each(
        input,
        path,
        &mut |node, path, found| {
            found.unless(node.get("$ref").is_none(), path, "no `$ref`");
        },
        found,
    );
}
