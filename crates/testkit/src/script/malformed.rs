//! Malformed tools.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Kinds of malformed definitions. If the tool has a name, it is the kind in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Malformed {
    /// No `inputSchema`.
    SchemaMissing,
    /// `inputSchema` is null.
    SchemaNull,
    /// `inputSchema` is `true`.
    SchemaBoolean,
    /// `readOnlyHint` is a string.
    HintText,
    /// `icons` is an object.
    IconsObject,
    /// `_meta` is an array.
    MetaArray,
    /// `name` is a number.
    NameNumber,
    /// `outputSchema` is `true`.
    OutputBoolean,
    /// `name` is missing.
    NameMissing,
    /// `name` is empty.
    NameEmpty,
    /// The name of the first tool again, with another description.
    NameDuplicate,
    /// A name of 10,000 characters.
    NameLong,
    /// A name with a space, a slash, quotes, a control character and an emoji.
    NameOdd,
    /// A name with `__` in it.
    NameSeparator,
    /// A schema of 64 levels.
    SchemaDeep,
    /// A schema of 200,000 bytes.
    SchemaLarge,
    /// A `$ref` to a URL.
    SchemaExternalRef,
    /// A `$ref` to itself.
    SchemaSelfRef,
    /// The definition is a string.
    NotAnObject,
    /// A description of 100,000 characters.
    DescriptionLong,
    /// A description that is a number.
    DescriptionNumber,
}

impl Malformed {
    /// The kinds that make a typed client reject the whole list.
    pub const BREAK_TYPED_CLIENTS: [Self; 8] = [
        Self::SchemaMissing,
        Self::SchemaNull,
        Self::SchemaBoolean,
        Self::HintText,
        Self::IconsObject,
        Self::MetaArray,
        Self::NameNumber,
        Self::OutputBoolean,
    ];

    /// The name of the malformed tool, if it has one of its own.
    pub fn name(self) -> String {
        serde_json::to_value(self)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// The definition. `first` is the name of the first tool of the list.
    pub fn definition(self, first: &str) -> Value {
        let mut tool = crate::tool_json(&self.name());
        let (key, value) = match self {
            Self::SchemaMissing => ("inputSchema", Value::Null),
            Self::SchemaNull => ("inputSchema", Value::Null),
            Self::SchemaBoolean => ("inputSchema", json!(true)),
            Self::HintText => ("annotations", json!({"readOnlyHint": "yes"})),
            Self::IconsObject => ("icons", json!({"src": "icon.png"})),
            Self::MetaArray => ("_meta", json!([1, 2])),
            Self::NameNumber => ("name", json!(7)),
            Self::OutputBoolean => ("outputSchema", json!(true)),
            Self::NameMissing => ("name", Value::Null),
            Self::NameEmpty => ("name", json!("")),
            Self::NameDuplicate => ("name", json!(first)),
            Self::NameLong => ("name", json!("n".repeat(10_000))),
            Self::NameOdd => ("name", json!("odd name/with \"quotes\" \u{7} \u{1f600}")),
            Self::NameSeparator => ("name", json!("name__separator")),
            Self::SchemaDeep => ("inputSchema", deep_schema(64)),
            Self::SchemaLarge => (
                "inputSchema",
                json!({"type": "object", "description": "x".repeat(200_000)}),
            ),
            Self::SchemaExternalRef => (
                "inputSchema",
                json!({"type": "object", "$ref": "http://127.0.0.1:9/schema.json"}),
            ),
            Self::SchemaSelfRef => (
                "inputSchema",
                json!({"type": "object", "properties": {"again": {"$ref": "#/properties/again"}}}),
            ),
            Self::NotAnObject => return json!("not a tool"),
            Self::DescriptionLong => ("description", json!("long ".repeat(20_000))),
            Self::DescriptionNumber => ("description", json!(3)),
        };
        if let Some(fields) = tool.as_object_mut() {
            if matches!(self, Self::SchemaMissing | Self::NameMissing) {
                fields.shift_remove(key);
            } else {
                fields.insert(key.to_owned(), value);
            }
        }
        tool
    }
}

fn deep_schema(levels: u32) -> Value {
    (0..levels).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "object", "properties": {"x": inner}}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_malformed_tool_has_exactly_one_error() {
        for kind in Malformed::BREAK_TYPED_CLIENTS {
            let (sound, bad) = (crate::tool_json(&kind.name()), kind.definition("a"));
            let keys = |tool: &Value| {
                tool.as_object()
                    .unwrap()
                    .keys()
                    .cloned()
                    .collect::<Vec<_>>()
            };
            let differing = keys(&sound)
                .into_iter()
                .chain(keys(&bad))
                .filter(|key| sound.get(key) != bad.get(key))
                .collect::<std::collections::BTreeSet<_>>();
            assert_eq!(differing.len(), 1, "{kind:?}: {differing:?}");
        }
    }
}
