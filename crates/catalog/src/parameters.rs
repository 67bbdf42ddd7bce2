//! A tool's arguments as people read them.

use pegboard_guard::type_summary;
use serde::Serialize;
use serde_json::Value;

use crate::flatten::flatten;

/// Arguments that are told of one tool.
const PARAMETERS: usize = 200;

/// One argument.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type in a word or two: `string`, `string[]`, `integer|string`, `any`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a call needs it.
    pub required: bool,
    /// What is taken when it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The values it may have, when they are listed.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
}

/// The arguments that a schema describes, in the order in which it does.
pub fn parameters(input_schema: &str) -> Vec<Parameter> {
    let Ok(root) = serde_json::from_str::<Value>(input_schema) else {
        return Vec::new();
    };
    let flat = flatten(&root, &root, 0);
    let required = flat
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let properties = flat.get("properties").and_then(Value::as_object);
    let tell = |(name, schema): (&String, &Value)| {
        let inner = flatten(&root, schema, 0);
        Parameter {
            name: name.clone(),
            kind: type_summary(&root, schema),
            // What stands beside a reference is closer than what stands in its target.
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
        .take(PARAMETERS)
        .map(tell)
        .collect()
}

/// Listed values: an `enum`, a single `const`, or alternatives that are all constants.
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
    fn r_reg_09_parameters_tell_type_need_default_and_choices() {
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
        let told: Vec<String> = parameters(schema)
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
            told,
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
