//! Gemini: the OpenAPI subset of `parameters`, which every model and both of its services take.

use serde_json::{Map, Value, json};

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::loss::LossKind;
use crate::passes::inline::{Recursion, inline};
use crate::passes::rename::{GEMINI_PARAMETER, rename_properties};
use crate::passes::root::flatten_root;
use crate::passes::shape::{Shape, shape};
use crate::passes::tuples::widen_tuple;
use crate::pattern::is_regular;
use crate::providers::ProviderSchema;
use crate::providers::unsupported_keywords::describe_unsupported;
use crate::restore::{Place, RestoreBuilder};

pub(crate) fn prepare(root: SchemaObject, notes: &mut ConversionContext) -> ProviderSchema {
    let mut root = inline(root, Recursion::Cut, notes);
    let mut sentences = flatten_root(&mut root, notes);
    let mut restore = RestoreBuilder::default();
    root.shift_remove("type");
    let mut schema = one("object", false, root, &Place::new(), &mut restore, notes);
    let is_empty = !schema.contains_key("properties");
    if is_empty && let Some(Value::String(text)) = schema.shift_remove("description") {
        sentences.push(text);
    }
    ProviderSchema {
        // An object without properties is refused; a function without parameters has none.
        schema: (!is_empty).then_some(Value::Object(schema)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}

fn schema(
    node: SchemaObject,
    place: &Place,
    restore: &mut RestoreBuilder,
    notes: &mut ConversionContext,
) -> Option<SchemaObject> {
    match shape(node, notes) {
        Shape::Never => None,
        Shape::Any(node) => Some(anything(node, notes)),
        Shape::One {
            kind,
            nullable,
            node,
        } => Some(one(&kind, nullable, node, place, restore, notes)),
        Shape::Choice {
            nullable,
            says,
            branches,
        } => {
            let mut heard = SchemaObject::new();
            describe_unsupported(
                without(says.clone(), &["title", "description"]),
                &mut heard,
                notes,
            );
            let outside = [says.get("description"), heard.get("description")]
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" ");
            let branches: Vec<Value> = branches
                .into_iter()
                .map(|(kind, node)| {
                    let branch = one(&kind, nullable, node, place, restore, notes);
                    Value::Object(introduced(branch, &outside))
                })
                .collect();
            // Nothing may stand beside `anyOf`, so each branch carries the description.
            Some(SchemaObject::from_iter([(
                "anyOf".to_owned(),
                Value::Array(branches),
            )]))
        }
    }
}

/// The schema with a text before its own description.
fn introduced(node: SchemaObject, text: &str) -> SchemaObject {
    if text.is_empty() {
        return node;
    }
    let own = node
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let joined = match own {
        "" => text.to_owned(),
        own if own == text => text.to_owned(),
        own => format!("{text} {own}"),
    };
    let mut node = node;
    node.insert("description".to_owned(), json!(joined));
    node
}

/// Any value, as far as the subset can say it.
fn anything(mut node: SchemaObject, notes: &mut ConversionContext) -> SchemaObject {
    notes.lose(LossKind::AnyAsTypes, "");
    let mut first = SchemaObject::new();
    first.insert("type".to_owned(), json!("STRING"));
    if let Some(text) = node.shift_remove("description") {
        first.insert("description".to_owned(), text);
    }
    describe_unsupported(without(node, &["title"]), &mut first, notes);
    first.insert("nullable".to_owned(), json!(true));
    let list = json!({"type": "ARRAY", "items": {"type": "STRING"}});
    let branches =
        json!([first, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}, list]);
    SchemaObject::from_iter([("anyOf".to_owned(), branches)])
}

/// A schema of one type.
fn one(
    kind: &str,
    nullable: bool,
    mut node: SchemaObject,
    place: &Place,
    restore: &mut RestoreBuilder,
    notes: &mut ConversionContext,
) -> SchemaObject {
    let mut out = SchemaObject::new();
    if kind == "null" {
        // Only `null` fits, which has no type of its own everywhere.
        out.insert("type".to_owned(), json!("STRING"));
        notes.lose(LossKind::ConstraintDropped, "type null");
    } else {
        out.insert("type".to_owned(), json!(kind.to_ascii_uppercase()));
    }
    keep(&mut node, &mut out, &["title", "description"]);
    match kind {
        "object" => object(&mut node, &mut out, place, restore, notes),
        "array" => list(&mut node, &mut out, place, restore, notes),
        "string" => string(&mut node, &mut out, notes),
        "integer" => {
            keep_format(&mut node, &mut out, &["int32", "int64"]);
            keep_numbers(&mut node, &mut out);
        }
        "number" => {
            keep_format(&mut node, &mut out, &["float", "double"]);
            keep_numbers(&mut node, &mut out);
        }
        _ => {}
    }
    if nullable {
        out.insert("nullable".to_owned(), json!(true));
    }
    describe_unsupported(node, &mut out, notes);
    out
}

fn object(
    node: &mut SchemaObject,
    out: &mut SchemaObject,
    place: &Place,
    restore: &mut RestoreBuilder,
    notes: &mut ConversionContext,
) {
    rename_properties(node, GEMINI_PARAMETER, place, restore, notes);
    let properties = match node.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut kept = Map::new();
    for (name, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        let mut inside = place.clone();
        inside.push(Some(name.clone()));
        let written = notes.at2("properties", &name, |notes| {
            let written = schema(property, &inside, restore, notes);
            if written.is_none() {
                notes.lose(LossKind::PropertyDropped, "no value is permitted");
            }
            written
        });
        if let Some(written) = written {
            kept.insert(name, Value::Object(written));
        }
    }
    if let Some(Value::Array(names)) = node.shift_remove("required") {
        let (described, unknown): (Vec<Value>, Vec<Value>) = names
            .into_iter()
            .partition(|n| n.as_str().is_some_and(|n| kept.contains_key(n)));
        if !unknown.is_empty() {
            let list = crate::description_text::listed(&unknown);
            crate::description_text::say(out, &format!("Needs also: {list}."));
            let text = crate::description_text::detail(&Value::Array(unknown));
            notes.lose(LossKind::ConstraintInWords, format!("required {text}"));
        }
        if !described.is_empty() {
            out.insert("required".to_owned(), Value::Array(described));
        }
    }
    if !kept.is_empty() {
        let at = out
            .keys()
            .position(|k| k == "required")
            .unwrap_or(out.len());
        out.shift_insert(at, "properties".to_owned(), Value::Object(kept));
    }
    keep_counts(node, out, &["minProperties", "maxProperties"]);
}

fn list(
    node: &mut SchemaObject,
    out: &mut SchemaObject,
    place: &Place,
    restore: &mut RestoreBuilder,
    notes: &mut ConversionContext,
) {
    widen_tuple(node, notes);
    let items = match node.shift_remove("items") {
        Some(Value::Object(items)) => items,
        _ => SchemaObject::new(),
    };
    let mut inside = place.clone();
    inside.push(None);
    let items = notes.at("items", |notes| {
        schema(items, &inside, restore, notes)
            .unwrap_or_else(|| anything(SchemaObject::new(), notes))
    });
    out.insert("items".to_owned(), Value::Object(items));
    keep_counts(node, out, &["minItems", "maxItems"]);
}

fn string(node: &mut SchemaObject, out: &mut SchemaObject, notes: &mut ConversionContext) {
    keep_format(node, out, &["date-time"]);
    if let Some(Value::Array(values)) = node.shift_remove("enum") {
        let (empty, values): (Vec<Value>, Vec<Value>) =
            values.into_iter().partition(|value| value == "");
        if !empty.is_empty() {
            notes.lose(LossKind::EnumValueDropped, "the empty text");
        }
        if !values.is_empty() {
            out.insert("enum".to_owned(), Value::Array(values));
        }
    }
    keep_counts(node, out, &["minLength", "maxLength"]);
    if node
        .get("pattern")
        .and_then(Value::as_str)
        .is_some_and(is_regular)
    {
        keep(node, out, &["pattern"]);
    }
}

fn keep_format(node: &mut SchemaObject, out: &mut SchemaObject, formats: &[&str]) {
    if node
        .get("format")
        .and_then(Value::as_str)
        .is_some_and(|f| formats.contains(&f))
    {
        keep(node, out, &["format"]);
    }
}

fn keep_numbers(node: &mut SchemaObject, out: &mut SchemaObject) {
    keep(node, out, &["minimum", "maximum"]);
}

/// Counts are 64-bit numbers with a sign there.
fn keep_counts(node: &mut SchemaObject, out: &mut SchemaObject, keywords: &[&str]) {
    for keyword in keywords {
        if node.get(*keyword).and_then(Value::as_i64).is_some() {
            keep(node, out, &[keyword]);
        }
    }
}

fn keep(from: &mut SchemaObject, to: &mut SchemaObject, keywords: &[&str]) {
    for keyword in keywords {
        if let Some(value) = from.shift_remove(*keyword) {
            to.insert((*keyword).to_owned(), value);
        }
    }
}

fn without(mut node: SchemaObject, keywords: &[&str]) -> SchemaObject {
    for keyword in keywords {
        node.shift_remove(*keyword);
    }
    node
}
