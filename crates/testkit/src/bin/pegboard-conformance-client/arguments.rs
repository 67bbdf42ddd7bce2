//! Sample arguments for a schema.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// One value for each property of the schema.
pub(crate) fn sample_arguments(schema: Option<&RawValue>) -> Value {
    let schema: Value = schema
        .and_then(|schema| serde_json::from_str(schema.get()).ok())
        .unwrap_or_default();
    let mut arguments = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = match property["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("object") => json!({}),
            Some("array") => json!([]),
            Some("string") => json!("text"),
            _ => continue,
        };
        arguments.insert(name.clone(), value);
    }
    Value::Object(arguments)
}
