//! Renaming of parameters whose names a provider rejects.

use serde_json::{Map, Value, json};

use crate::alias::NameRule;
use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, append_description, detail};
use crate::limits::PROPERTY_NAME_MAX;
use crate::loss::LossKind;
use crate::restore::{ArgumentPath, RestoreBuilder};

/// Parameter names of Anthropic, Bedrock and OpenAI.
pub(crate) const PARAMETER: NameRule = NameRule {
    also: "-.",
    starts_with_letter: false,
    max: PROPERTY_NAME_MAX,
};

/// Parameter names of Gemini.
pub(crate) const GEMINI_PARAMETER: NameRule = NameRule {
    also: "",
    starts_with_letter: true,
    max: PROPERTY_NAME_MAX,
};

/// Renames the properties of one object that violate the rule, including their uses in `required`.
pub(crate) fn rename_properties(
    node: &mut SchemaObject,
    rule: NameRule,
    path: &ArgumentPath,
    restore: &mut RestoreBuilder,
    ctx: &mut ConversionContext,
) {
    let Some(Value::Object(properties)) = node.shift_remove("properties") else {
        return;
    };
    let own: Vec<String> = properties.keys().cloned().collect();
    let mut renamed: Vec<(String, String)> = Vec::new();
    let mut kept = Map::new();
    for (name, mut schema) in properties {
        let alias = restore.name(path, &name, &own, rule);
        if alias != name {
            ctx.at2("properties", &name, |ctx| {
                ctx.record_loss(LossKind::PropertyRenamed, alias.clone());
            });
            if let Value::Object(schema) = &mut schema {
                append_description(
                    schema,
                    &format!("The tool calls it `{}`.", detail(&json!(name))),
                );
            }
            renamed.push((name, alias.clone()));
        }
        kept.insert(alias, schema);
    }
    let position = node.keys().position(|k| k == "type").map_or(0, |at| at + 1);
    node.shift_insert(position, "properties".to_owned(), Value::Object(kept));
    if renamed.is_empty() {
        return;
    }
    let new_name = |name: &str| {
        renamed
            .iter()
            .find(|(old, _)| old == name)
            .map(|(_, alias)| alias.clone())
    };
    if let Some(Value::Array(names)) = node.get_mut("required") {
        for name in names.iter_mut() {
            if let Some(alias) = name.as_str().and_then(new_name) {
                *name = json!(alias);
            }
        }
    }
    // These refer to properties by name in ways that are not rewritten; the old names would be wrong.
    for keyword in [
        "dependentRequired",
        "dependentSchemas",
        "if",
        "then",
        "else",
        "not",
        "propertyNames",
    ] {
        if node.shift_remove(keyword).is_some() {
            ctx.record_loss(LossKind::ConditionDropped, keyword);
        }
    }
}
