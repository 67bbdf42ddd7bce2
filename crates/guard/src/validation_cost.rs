//! Cost estimate of a validation, so that hostile schemas cannot make it endless.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{
    references::percent_decoded,
    regex_limits::states,
    schema_walk::{SchemaLocation, walk},
};

/// Maximum steps of a validation, about 50 ms of work. The largest real schemas need a few thousand.
const STEPS: usize = 100_000;
/// Maximum depth of nested schemas. It stops references that return to themselves without descending into the arguments.
const DEPTH: usize = 200;

/// Number of regex states that take the time of one step.
const STATES_PER_STEP: usize = 24;

const SAME_VALUE_LISTS: &[&str] = &["allOf", "anyOf", "oneOf"];
const SAME_VALUE: &[&str] = &["not", "if", "then", "else"];
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];
const EACH_ITEM: &[&str] = &["items", "additionalItems", "contains", "unevaluatedItems"];
const EACH_PROPERTY: &[&str] = &["additionalProperties", "unevaluatedProperties"];

/// Properties of a schema that are determined once and not for each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaFeatures {
    embedded_document: bool,
    anchors: bool,
}

impl SchemaFeatures {
    pub(crate) fn of(root: &Value) -> Self {
        Self {
            embedded_document: has_embedded_document(root),
            anchors: !anchors(root).is_empty(),
        }
    }
}

/// Whether validating these arguments stays within the step limit. The walk visits everything that the validator would
/// visit without stopping early, and counts.
pub(crate) fn is_bounded(root: &Value, features: SchemaFeatures, arguments: &Value) -> bool {
    // References inside an embedded document are relative to it. No real tool has one, so such schemas are left to
    // the server.
    if features.embedded_document {
        return false;
    }
    let mut walk = Walk {
        root,
        anchors: match features.anchors {
            true => anchors(root),
            false => HashMap::new(),
        },
        steps: STEPS,
    };
    walk.apply(root, arguments, DEPTH).is_some()
}

struct Walk<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    steps: usize,
}

impl<'a> Walk<'a> {
    fn apply(&mut self, schema: &'a Value, value: &Value, depth: usize) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        let Value::Object(map) = schema else {
            return Some(());
        };
        // The validator compares each enum value and checks each keyword.
        let listed = map
            .get("enum")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        self.steps = self.steps.checked_sub(map.len() + listed)?;
        for (keyword, inner) in map {
            let keyword = keyword.as_str();
            if REFERENCES.contains(&keyword) {
                // An unresolved reference could lead anywhere.
                let target = self.target(inner.as_str()?)?;
                self.apply(target, value, depth)?;
            } else if SAME_VALUE.contains(&keyword) {
                self.apply(inner, value, depth)?;
            } else if SAME_VALUE_LISTS.contains(&keyword) {
                for branch in inner.as_array().into_iter().flatten() {
                    self.apply(branch, value, depth)?;
                }
            } else if matches!(keyword, "dependentSchemas" | "dependencies") {
                for branch in inner.as_object().into_iter().flat_map(Map::values) {
                    self.apply(branch, value, depth)?;
                }
            } else {
                self.descend(keyword, inner, value, depth)?;
            }
        }
        Some(())
    }

    fn descend(
        &mut self,
        keyword: &str,
        inner: &'a Value,
        value: &Value,
        depth: usize,
    ) -> Option<()> {
        match value {
            Value::Object(fields) if keyword == "properties" => {
                for (name, schema) in inner.as_object().into_iter().flatten() {
                    if let Some(field) = fields.get(name) {
                        self.apply(schema, field, depth)?;
                    }
                }
            }
            Value::Object(fields) if keyword == "patternProperties" => {
                for (pattern, schema) in inner.as_object().into_iter().flatten() {
                    for (name, field) in fields {
                        self.matching(pattern, name)?;
                        self.apply(schema, field, depth)?;
                    }
                }
            }
            Value::Object(fields) if keyword == "propertyNames" => {
                for name in fields.keys() {
                    self.apply(inner, &Value::from(name.as_str()), depth)?;
                }
            }
            Value::String(text) if keyword == "pattern" => {
                self.matching(inner.as_str().unwrap_or_default(), text)?;
            }
            Value::Object(fields) if EACH_PROPERTY.contains(&keyword) => {
                for field in fields.values() {
                    self.apply(inner, field, depth)?;
                }
            }
            Value::Array(items)
                if keyword == "prefixItems" || inner.is_array() && keyword == "items" =>
            {
                for (schema, item) in inner.as_array().into_iter().flatten().zip(items) {
                    self.apply(schema, item, depth)?;
                }
            }
            Value::Array(items) if EACH_ITEM.contains(&keyword) => {
                for item in items {
                    self.apply(inner, item, depth)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// In the worst case, matching visits all states of a pattern for each character.
    fn matching(&mut self, pattern: &str, text: &str) -> Option<()> {
        let work = states(pattern).saturating_mul(text.len()) / STATES_PER_STEP;
        self.steps = self.steps.checked_sub(work)?;
        Some(())
    }

    fn target(&self, written: &str) -> Option<&'a Value> {
        let (document, fragment) = written.split_once('#').unwrap_or((written, ""));
        if !document.is_empty() && self.root.get("$id").and_then(Value::as_str) != Some(document) {
            return None;
        }
        let fragment = percent_decoded(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        self.anchors.get(fragment.as_ref()).copied()
    }
}

fn has_embedded_document(root: &Value) -> bool {
    let mut embedded = false;
    walk(root, &mut |map, location| {
        let identifier = map.get("$id").and_then(Value::as_str);
        embedded |=
            location != SchemaLocation::Root && identifier.is_some_and(|id| !id.starts_with('#'));
    });
    embedded
}

fn anchors(root: &Value) -> HashMap<&str, &Value> {
    fn collect<'a>(value: &'a Value, found: &mut HashMap<&'a str, &'a Value>) {
        match value {
            Value::Object(map) => {
                let names = ["$anchor", "$dynamicAnchor", "$id"];
                for name in names.iter().filter_map(|key| map.get(*key)?.as_str()) {
                    found.insert(name.trim_start_matches('#'), value);
                }
                map.values().for_each(|inner| collect(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| collect(inner, found)),
            _ => {}
        }
    }
    let mut found = HashMap::new();
    collect(root, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_bounded(root: &Value, arguments: &Value) -> bool {
        super::is_bounded(root, SchemaFeatures::of(root), arguments)
    }

    #[test]
    fn ordinary_and_recursive_schemas_are_bounded() {
        let tree = json!({"type": "object", "properties": {"child": {"$ref": "#"}, "name": {"type": "string"}}});
        assert!(is_bounded(
            &tree,
            &json!({"child": {"child": {"name": "x"}}})
        ));
    }

    #[test]
    fn r_sec_01_endless_and_exploding_schemas_are_detected() {
        assert!(!is_bounded(&json!({"allOf": [{"$ref": "#"}]}), &json!({})));
        assert!(!is_bounded(
            &json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
            "$ref": "#/$defs/a"}),
            &json!({})
        ));
        let mut doubling = json!({"$defs": {"a30": {}}, "$ref": "#/$defs/a0"});
        for level in 0..30 {
            let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
            doubling["$defs"][format!("a{level}")] = json!({"allOf": [next, next]});
        }
        assert!(!is_bounded(&doubling, &json!({})));
    }

    #[test]
    fn r_sec_01_g07_matching_a_long_text_with_a_large_pattern_is_detected() {
        let counted = "a[ab]{900}c";
        let [short, long] = [10, 50_000].map(|length| "ab".repeat(length));
        let value = json!({"properties": {"x": {"pattern": counted}}});
        assert!(is_bounded(&value, &json!({"x": short})));
        assert!(!is_bounded(&value, &json!({"x": long})));
        let names = json!({"propertyNames": {"pattern": counted}});
        assert!(is_bounded(&names, &json!({&short: 1})));
        assert!(!is_bounded(&names, &json!({&long: 1})));
        let named = json!({"patternProperties": {counted: {}}});
        assert!(is_bounded(&named, &json!({&short: 1})));
        assert!(!is_bounded(&named, &json!({&long: 1})));
        let plain = json!({"properties": {"x": {"pattern": "^\\S+$"}}});
        assert!(
            is_bounded(&plain, &json!({"x": long})),
            "ordinary patterns take long texts"
        );
    }
}
