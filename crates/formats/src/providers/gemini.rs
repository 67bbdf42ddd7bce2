//! Gemini: the OpenAPI subset of `parameters`, which all models and both services accept.

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
use crate::restore::{ArgumentPath, RestoreBuilder};

pub(crate) fn prepare(root: SchemaObject, ctx: &mut ConversionContext) -> ProviderSchema {
    let mut root = inline(root, Recursion::Cut, ctx);
    let mut sentences = flatten_root(&mut root, ctx);
    let mut restore = RestoreBuilder::default();
    root.shift_remove("type");
    let mut schema = one(
        "object",
        false,
        root,
        &ArgumentPath::new(),
        &mut restore,
        ctx,
    );
    let is_empty = !schema.contains_key("properties");
    if is_empty && let Some(Value::String(text)) = schema.shift_remove("description") {
        sentences.push(text);
    }
    ProviderSchema {
        // An object without properties is rejected; a function without parameters has no schema.
        schema: (!is_empty).then_some(Value::Object(schema)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}

fn schema(
    node: SchemaObject,
    path: &ArgumentPath,
    restore: &mut RestoreBuilder,
    ctx: &mut ConversionContext,
) -> Option<SchemaObject> {
    match shape(node, ctx) {
        Shape::Never => None,
        Shape::Any(node) => Some(anything(node, ctx)),
        Shape::One {
            kind,
            nullable,
            node,
        } => Some(one(&kind, nullable, node, path, restore, ctx)),
        Shape::Choice {
            nullable,
            annotations,
            branches,
        } => {
            let mut described = SchemaObject::new();
            describe_unsupported(
                without(annotations.clone(), &["title", "description"]),
                &mut described,
                ctx,
            );
            let outside = [annotations.get("description"), described.get("description")]
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" ");
            let branches: Vec<Value> = branches
                .into_iter()
                .map(|(kind, node)| {
                    let branch = one(&kind, nullable, node, path, restore, ctx);
                    Value::Object(with_leading_description(branch, &outside))
                })
                .collect();
            // `anyOf` allows no other keywords, so each branch gets the description.
            Some(SchemaObject::from_iter([(
                "anyOf".to_owned(),
                Value::Array(branches),
            )]))
        }
    }
}

/// Prepends a text to the description of a schema.
fn with_leading_description(node: SchemaObject, text: &str) -> SchemaObject {
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

/// A schema for any value, as far as the subset allows.
fn anything(mut node: SchemaObject, ctx: &mut ConversionContext) -> SchemaObject {
    ctx.record_loss(LossKind::AnyAsTypes, "");
    let mut first = SchemaObject::new();
    first.insert("type".to_owned(), json!("STRING"));
    if let Some(text) = node.shift_remove("description") {
        first.insert("description".to_owned(), text);
    }
    describe_unsupported(without(node, &["title"]), &mut first, ctx);
    first.insert("nullable".to_owned(), json!(true));
    let list = json!({"type": "ARRAY", "items": {"type": "STRING"}});
    let branches =
        json!([first, {"type": "NUMBER"}, {"type": "BOOLEAN"}, {"type": "OBJECT"}, list]);
    SchemaObject::from_iter([("anyOf".to_owned(), branches)])
}

/// Converts a schema of one type.
fn one(
    kind: &str,
    nullable: bool,
    mut node: SchemaObject,
    path: &ArgumentPath,
    restore: &mut RestoreBuilder,
    ctx: &mut ConversionContext,
) -> SchemaObject {
    let mut out = SchemaObject::new();
    if kind == "null" {
        // `null` is not a type on all services.
        out.insert("type".to_owned(), json!("STRING"));
        ctx.record_loss(LossKind::ConstraintDropped, "type null");
    } else {
        out.insert("type".to_owned(), json!(kind.to_ascii_uppercase()));
    }
    keep(&mut node, &mut out, &["title", "description"]);
    match kind {
        "object" => object(&mut node, &mut out, path, restore, ctx),
        "array" => list(&mut node, &mut out, path, restore, ctx),
        "string" => string(&mut node, &mut out, ctx),
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
    describe_unsupported(node, &mut out, ctx);
    out
}

fn object(
    node: &mut SchemaObject,
    out: &mut SchemaObject,
    path: &ArgumentPath,
    restore: &mut RestoreBuilder,
    ctx: &mut ConversionContext,
) {
    rename_properties(node, GEMINI_PARAMETER, path, restore, ctx);
    let properties = match node.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let mut kept = Map::new();
    for (name, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        let mut inside = path.clone();
        inside.push(Some(name.clone()));
        let written = ctx.at2("properties", &name, |ctx| {
            let written = schema(property, &inside, restore, ctx);
            if written.is_none() {
                ctx.record_loss(LossKind::PropertyDropped, "no value is allowed");
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
            let list = crate::description_text::join_values(&unknown);
            crate::description_text::append_description(out, &format!("Also required: {list}."));
            let text = crate::description_text::detail(&Value::Array(unknown));
            ctx.record_loss(LossKind::ConstraintInWords, format!("required {text}"));
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
    path: &ArgumentPath,
    restore: &mut RestoreBuilder,
    ctx: &mut ConversionContext,
) {
    widen_tuple(node, ctx);
    let items = match node.shift_remove("items") {
        Some(Value::Object(items)) => items,
        _ => SchemaObject::new(),
    };
    let mut inside = path.clone();
    inside.push(None);
    let items = ctx.at("items", |ctx| {
        schema(items, &inside, restore, ctx).unwrap_or_else(|| anything(SchemaObject::new(), ctx))
    });
    out.insert("items".to_owned(), Value::Object(items));
    keep_counts(node, out, &["minItems", "maxItems"]);
}

fn string(node: &mut SchemaObject, out: &mut SchemaObject, ctx: &mut ConversionContext) {
    keep_format(node, out, &["date-time"]);
    if let Some(Value::Array(values)) = node.shift_remove("enum") {
        let (empty, values): (Vec<Value>, Vec<Value>) =
            values.into_iter().partition(|value| value == "");
        if !empty.is_empty() {
            ctx.record_loss(LossKind::EnumValueDropped, "the empty string");
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

/// Counts are signed 64-bit integers.
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
