//! Simplification of a schema to one type, a choice of types, or any value, for providers that support a subset.

use serde_json::{Value, json};

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::keywords::{ANNOTATIONS, of_type, size, type_of, types_of};
use crate::limits::ALTERNATIVES_MAX;
use crate::loss::LossKind;
use crate::passes::clean::is_never;
use crate::passes::merge;

/// A schema with its combinators resolved, one level deep; nested schemas are unchanged.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any value.
    Any(SchemaObject),
    /// No value.
    Never,
    /// Values of one type; `node` has no `type`, no combinator, and only keywords of that type.
    One {
        kind: String,
        nullable: bool,
        node: SchemaObject,
    },
    /// A choice of at least two alternatives with common annotations.
    Choice {
        nullable: bool,
        annotations: SchemaObject,
        branches: Vec<(String, SchemaObject)>,
    },
}

/// Resolves the combinators of one schema. Callers handle recursive references themselves.
pub(crate) fn shape(mut node: SchemaObject, ctx: &mut ConversionContext) -> Shape {
    join_all_of(&mut node, ctx);
    if is_never(&node) {
        return Shape::Never;
    }
    if let Some(constant) = node.shift_remove("const") {
        let single = SchemaObject::from_iter([("enum".to_owned(), json!([constant]))]);
        node = merge::intersect(single, node, ctx);
    }
    if let Some(branches) = node.shift_remove("oneOf") {
        if node.contains_key("anyOf") {
            ctx.record_loss(LossKind::ConditionDropped, "oneOf beside anyOf");
        } else {
            if branches.as_array().is_some_and(|b| b.len() > 1) {
                ctx.record_loss(LossKind::OneOfAsAnyOf, "oneOf");
            }
            node.insert("anyOf".to_owned(), branches);
        }
    }
    match node.shift_remove("anyOf") {
        Some(Value::Array(branches)) => choice(node, branches, ctx),
        _ => by_type(node, ctx),
    }
}

/// Merges `allOf` into the schema.
pub(crate) fn join_all_of(node: &mut SchemaObject, ctx: &mut ConversionContext) {
    while let Some(Value::Array(parts)) = node.shift_remove("allOf") {
        for (index, part) in parts.into_iter().enumerate() {
            let Value::Object(part) = part else { continue };
            let ours = std::mem::take(node);
            *node = ctx.at2("allOf", &index.to_string(), |ctx| {
                merge::intersect(ours, part, ctx)
            });
        }
    }
}

/// Removes and returns the annotations of a schema.
pub(crate) fn take_annotations(node: &mut SchemaObject) -> SchemaObject {
    ANNOTATIONS
        .into_iter()
        .filter_map(|keyword| Some((keyword.to_owned(), node.shift_remove(keyword)?)))
        .collect()
}

fn choice(mut base: SchemaObject, branches: Vec<Value>, ctx: &mut ConversionContext) -> Shape {
    let annotations = take_annotations(&mut base);
    if branches.len() > ALTERNATIVES_MAX {
        let dropped = branches.len() - ALTERNATIVES_MAX;
        ctx.record_loss(
            LossKind::AlternativeDropped,
            format!("{dropped} of {}", branches.len()),
        );
    }
    let copies = size(&Value::Object(base.clone())) * branches.len().min(ALTERNATIVES_MAX);
    if !base.is_empty() && !ctx.may_copy(copies) {
        ctx.record_loss(LossKind::SizeCut, "keywords next to the alternatives");
        base.clear();
    }
    let mut found = Alternatives::default();
    for (index, branch) in branches.into_iter().take(ALTERNATIVES_MAX).enumerate() {
        let Value::Object(branch) = branch else {
            continue;
        };
        let shape = ctx.at2("anyOf", &index.to_string(), |ctx| {
            let merged = if base.is_empty() {
                branch
            } else {
                merge::intersect(branch, base.clone(), ctx)
            };
            shape(merged, ctx)
        });
        if let Some(anything) = found.add(shape) {
            return Shape::Any(with_outer_description(anything, &annotations));
        }
    }
    found.into_shape(annotations)
}

#[derive(Default)]
struct Alternatives {
    nullable: bool,
    branches: Vec<(String, SchemaObject)>,
}

impl Alternatives {
    /// Adds an alternative. Returns it if it accepts any value, because then the whole choice does.
    fn add(&mut self, shape: Shape) -> Option<SchemaObject> {
        match shape {
            Shape::Never => {}
            Shape::Any(node) => return Some(node),
            Shape::One {
                kind,
                nullable,
                node,
            } => {
                self.nullable |= nullable;
                if kind == "null" {
                    self.nullable = true;
                } else if !self.branches.iter().any(|(k, n)| *k == kind && *n == node) {
                    self.branches.push((kind, node));
                }
            }
            Shape::Choice {
                nullable,
                annotations,
                branches,
            } => {
                self.nullable |= nullable;
                for (kind, node) in branches {
                    let node = with_outer_description(node, &annotations);
                    if !self.branches.iter().any(|(k, n)| *k == kind && *n == node) {
                        self.branches.push((kind, node));
                    }
                }
            }
        }
        None
    }

    fn into_shape(mut self, annotations: SchemaObject) -> Shape {
        match self.branches.len() {
            0 if self.nullable => Shape::One {
                kind: "null".to_owned(),
                nullable: true,
                node: annotations,
            },
            0 => Shape::Never,
            1 => {
                let (kind, node) = self.branches.remove(0);
                Shape::One {
                    kind,
                    nullable: self.nullable,
                    node: override_annotations(node, annotations),
                }
            }
            _ => Shape::Choice {
                nullable: self.nullable,
                annotations,
                branches: self.branches,
            },
        }
    }
}

/// The schema with the outer description, unless it has its own.
fn with_outer_description(mut node: SchemaObject, annotations: &SchemaObject) -> SchemaObject {
    for (keyword, value) in annotations {
        if keyword == "description" && !node.contains_key(keyword) {
            node.insert(keyword.clone(), value.clone());
        }
    }
    node
}

/// The schema with its annotations replaced by the outer ones.
fn override_annotations(mut node: SchemaObject, annotations: SchemaObject) -> SchemaObject {
    for (keyword, value) in annotations {
        node.insert(keyword, value);
    }
    node
}

fn by_type(mut node: SchemaObject, ctx: &mut ConversionContext) -> Shape {
    let mut types = types_of(&node);
    node.shift_remove("type");
    if types.is_empty() {
        types = inferred_types(&node, ctx);
    }
    if types.is_empty() {
        return Shape::Any(node);
    }
    let named_null = types.iter().any(|t| t == "null");
    types.retain(|t| t != "null");
    if types.iter().any(|t| t == "number") {
        types.retain(|t| t != "integer");
    }
    let mut nullable = named_null;
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        // An enum without `null` does not accept it, even if the types do.
        nullable &= values.contains(&Value::Null);
        values.retain(|value| !value.is_null());
        if values.is_empty() {
            node.shift_remove("enum");
            types.clear();
        }
    }
    if types.is_empty() {
        return if nullable {
            Shape::One {
                kind: "null".to_owned(),
                nullable: true,
                node: take_annotations(&mut node),
            }
        } else {
            Shape::Never
        };
    }
    if let [kind] = types.as_slice() {
        return match restrict_to_type(kind, node) {
            Some(node) => Shape::One {
                kind: kind.clone(),
                nullable,
                node,
            },
            None => Shape::Never,
        };
    }
    let annotations = take_annotations(&mut node);
    let mut found = Alternatives {
        nullable,
        branches: Vec::new(),
    };
    for kind in types {
        if !ctx.may_copy(size(&Value::Object(node.clone()))) {
            ctx.record_loss(LossKind::SizeCut, format!("type {kind}"));
            continue;
        }
        if let Some(node) = restrict_to_type(&kind, node.clone()) {
            found.branches.push((kind, node));
        }
    }
    found.into_shape(annotations)
}

/// The schema restricted to one type; `None` if its enum has no value of that type.
fn restrict_to_type(kind: &str, mut node: SchemaObject) -> Option<SchemaObject> {
    let number = kind == "integer" || kind == "number";
    node.retain(|keyword, _| {
        of_type(keyword).is_none_or(|of| of == kind || (of == "number" && number))
    });
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| {
            let of = type_of(value);
            of == kind
                || (kind == "number" && of == "integer")
                || (kind == "integer" && value.as_f64().is_some_and(|n| n.fract() == 0.0))
        });
        if values.is_empty() {
            return None;
        }
    }
    Some(node)
}

/// The types that the other keywords imply.
fn inferred_types(node: &SchemaObject, ctx: &mut ConversionContext) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    if let Some(Value::Array(values)) = node.get("enum") {
        for value in values {
            let of = type_of(value).to_owned();
            if !types.contains(&of) {
                types.push(of);
            }
        }
        // The types of the values are certain, so nothing is lost.
        return types;
    }
    for keyword in node.keys() {
        if let Some(of) = of_type(keyword)
            && !types.iter().any(|t| t == of)
        {
            types.push(of.to_owned());
        }
    }
    if !types.is_empty() {
        ctx.record_loss(LossKind::TypeGuessed, types.join(", "));
    }
    types
}
