//! Lists a tool's parameters.

use pegboard_guard::type_summary;
use serde::Serialize;
use serde_json::Value;

use crate::flatten::flatten_schema;

/// Parameters that are returned for one tool.
const MAX_PARAMETERS: usize = 200;

/// One parameter of a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// The parameter's name.
    pub name: String,
    /// A short type: `string`, `string[]`, `integer|string`, `any`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The description from the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call must include it.
    pub required: bool,
    /// The default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The allowed values, if the schema lists them.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
}

/// Returns the parameters of a schema, in the order of its properties.
pub fn parameters(input_schema: &str) -> Vec<Parameter> {
    let Ok(root) = serde_json::from_str::<Value>(input_schema) else {
        return Vec::new();
    };
    let flat = flatten_schema(&root, &root, 0);
    let required = flat
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let properties = flat.get("properties").and_then(Value::as_object);
    let parameter = |(name, schema): (&String, &Value)| {
        let inner = flatten_schema(&root, schema, 0);
        Parameter {
            name: name.clone(),
            kind: type_summary(&root, schema),
            // A description next to a reference is more specific than one in its target.
            description: [schema.get("description"), inner.get("description")]
                .into_iter()
                .flatten()
                .find_map(|text| text.as_str().map(str::to_owned)),
            required: required.iter().any(|needed| needed == name),
            default: schema
                .get("default")
                .or_else(|| inner.get("default"))
                .cloned(),
            choices: choices(&inner, schema),
        }
    };
    properties
        .into_iter()
        .flatten()
        .take(MAX_PARAMETERS)
        .map(parameter)
        .collect()
}

/// Returns the values of an `enum`, of a `const`, or of alternatives that are all constants.
fn choices(inner: &serde_json::Map<String, Value>, schema: &Value) -> Option<Vec<Value>> {
    for keyword in ["oneOf", "anyOf"] {
        let constants = schema
            .get(keyword)
            .and_then(Value::as_array)
            .map(|alternatives| {
                alternatives
                    .iter()
                    .map(|alternative| alternative.get("const").cloned())
                    .collect()
            });
        if let Some(Some(constants)) = constants {
            return Some(constants);
        }
    }
    let listed = inner.get("enum").and_then(Value::as_array).cloned();
    listed.or_else(|| inner.get("const").map(|only| vec![only.clone()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_reg_09_parameters_have_type_required_default_and_choices() {
        let schema = r##"{"type":"object","required":["owner","tree"],
            "$defs":{"tree":{"type":"object","description":"A tree.","properties":{"child":{"$ref":"#/$defs/tree"}}}},
            "properties":{
                "owner":{"type":"string","description":"Who."},
                "state":{"enum":["open","closed"],"default":"open"},
                "labels":{"type":"array","items":{"type":"string"}},
                "limit":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
                "id":{"type":["string","integer"]},
                "tree":{"$ref":"#/$defs/tree"},
                "mode":{"oneOf":[{"const":"a"},{"const":"b"}]},
                "free":{}}}"##;
        let shown: Vec<String> = parameters(schema)
            .iter()
            .map(|p| {
                format!(
                    "{} {} {} {:?} {:?} {:?}",
                    p.name,
                    p.kind,
                    p.required,
                    p.description,
                    p.default,
                    p.choices.as_ref().map(Vec::len)
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#"owner string true Some("Who.") None None"#,
                r#"state string false None Some(String("open")) Some(2)"#,
                r#"labels string[] false None None None"#,
                r#"limit integer false None Some(Null) None"#,
                r#"id string|integer false None None None"#,
                r#"tree object true Some("A tree.") None None"#,
                r#"mode string false None None Some(2)"#,
                r#"free any false None None None"#,
            ]
        );
        assert!(parameters(r#"{"type":"object"}"#).is_empty());
        assert!(parameters("nonsense").is_empty());
    }
}
