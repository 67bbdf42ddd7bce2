//! What the model receives before any call: definitions and instructions.

use pegboard_metatools::{CALL, INSTRUCTIONS, definitions};
use serde_json::Value;

use crate::client::Client;
use crate::session::Ended;
use crate::transcript::offered;

/// Asserts that the model sees Pegboard's instructions and every meta tool with its description and parameters.
#[track_caller]
pub(crate) fn assert_offered(client: Client, ended: &Ended) {
    let request = ended.first_request();
    let tools = offered(request);
    for definition in definitions() {
        let own = definition["name"].as_str().expect("a name");
        let name = format!("{}{own}", client.prefix);
        let tool = tools
            .iter()
            .find(|tool| tool.name == name && tool.namespace.as_deref() == client.namespace);
        let names: Vec<&String> = tools.iter().map(|tool| &tool.name).collect();
        let tool = tool.unwrap_or_else(|| panic!("{}: no {name} in {names:?}", client.name));
        assert!(!tool.is_deferred, "{}: {name} is deferred", client.name);
        assert_eq!(
            Value::from(tool.description.as_str()),
            definition["description"]
        );
        // Gemini CLI adds its own parameter.
        let own_properties = definition["inputSchema"]["properties"].as_object();
        for (key, _) in own_properties.into_iter().flatten() {
            let schema = &tool.schema["properties"][key];
            assert!(
                schema.is_object(),
                "{}: {name}: no `{key}` in {}",
                client.name,
                tool.schema
            );
        }
        if own == CALL {
            assert_open(client, &tool.schema["properties"]["arguments"]);
        }
    }
    let first = INSTRUCTIONS.split(". ").next().unwrap_or_default();
    let sent = request.body.to_string();
    assert!(
        sent.contains(first),
        "{}: no instructions in {sent}",
        client.name
    );
}

/// Some clients rewrite schemas; the schema of `arguments` must still accept any object.
#[track_caller]
fn assert_open(client: Client, schema: &Value) {
    let is_closed = schema["additionalProperties"] == false;
    let is_empty = schema["properties"]
        .as_object()
        .is_some_and(serde_json::Map::is_empty)
        && schema["additionalProperties"].is_null();
    assert!(
        !is_closed && !is_empty,
        "{}: the model sees that `arguments` has no properties: {schema}",
        client.name
    );
}
