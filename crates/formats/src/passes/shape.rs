//! What a schema comes down to, for the providers that take only a subset: one type, a choice, or anything.

use serde_json::{Value, json};

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::keywords::{ANNOTATIONS, of_type, size, type_of, types_of};
use crate::limits::ALTERNATIVES_MAX;
use crate::loss::LossKind;
use crate::passes::clean::is_never;
use crate::passes::merge;

/// A schema with its combinators resolved, one level deep: the schemas below are still to be looked at.
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
    /// A choice of at least two; what it says to readers is in `says`.
    Choice {
        nullable: bool,
        says: SchemaObject,
        branches: Vec<(String, SchemaObject)>,
    },
}

/// Resolves the combinators of one schema. A schema that still refers (it contains itself) is left alone by
/// the callers.
pub(crate) fn shape(mut node: SchemaObject, notes: &mut ConversionContext) -> Shape {
    join_all_of(&mut node, notes);
    if is_never(&node) {
        return Shape::Never;
    }
    if let Some(constant) = node.shift_remove("const") {
        let single = SchemaObject::from_iter([("enum".to_owned(), json!([constant]))]);
        node = merge::both(single, node, notes);
    }
    if let Some(branches) = node.shift_remove("oneOf") {
        if node.contains_key("anyOf") {
            notes.lose(LossKind::ConditionDropped, "oneOf beside anyOf");
        } else {
            if branches.as_array().is_some_and(|b| b.len() > 1) {
                notes.lose(LossKind::OneOfAsAnyOf, "oneOf");
            }
            node.insert("anyOf".to_owned(), branches);
        }
    }
    match node.shift_remove("anyOf") {
        Some(Value::Array(branches)) => choice(node, branches, notes),
        _ => by_type(node, notes),
    }
}

/// Joins `allOf` into the schema itself.
pub(crate) fn join_all_of(node: &mut SchemaObject, notes: &mut ConversionContext) {
    while let Some(Value::Array(parts)) = node.shift_remove("allOf") {
        for (index, part) in parts.into_iter().enumerate() {
            let Value::Object(part) = part else { continue };
            let ours = std::mem::take(node);
            *node = notes.at2("allOf", &index.to_string(), |notes| {
                merge::both(ours, part, notes)
            });
        }
    }
}

/// What a schema says to readers, apart from what it demands.
pub(crate) fn take_annotations(node: &mut SchemaObject) -> SchemaObject {
    ANNOTATIONS
        .into_iter()
        .filter_map(|keyword| Some((keyword.to_owned(), node.shift_remove(keyword)?)))
        .collect()
}

fn choice(mut base: SchemaObject, branches: Vec<Value>, notes: &mut ConversionContext) -> Shape {
    let says = take_annotations(&mut base);
    if branches.len() > ALTERNATIVES_MAX {
        let dropped = branches.len() - ALTERNATIVES_MAX;
        notes.lose(
            LossKind::AlternativeDropped,
            format!("{dropped} of {}", branches.len()),
        );
    }
    let copies = size(&Value::Object(base.clone())) * branches.len().min(ALTERNATIVES_MAX);
    if !base.is_empty() && !notes.may_copy(copies) {
        notes.lose(LossKind::SizeCut, "what stands beside the alternatives");
        base.clear();
    }
    let mut found = Alternatives::default();
    for (index, branch) in branches.into_iter().take(ALTERNATIVES_MAX).enumerate() {
        let Value::Object(branch) = branch else {
            continue;
        };
        let shape = notes.at2("anyOf", &index.to_string(), |notes| {
            let merged = if base.is_empty() {
                branch
            } else {
                merge::both(branch, base.clone(), notes)
            };
            shape(merged, notes)
        });
        if let Some(anything) = found.add(shape) {
            return Shape::Any(with_outer_description(anything, &says));
        }
    }
    found.into_shape(says)
}

#[derive(Default)]
struct Alternatives {
    nullable: bool,
    branches: Vec<(String, SchemaObject)>,
}

impl Alternatives {
    /// Adds an alternative; gives it back when it takes anything, because then the choice does.
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
                says,
                branches,
            } => {
                self.nullable |= nullable;
                for (kind, node) in branches {
                    let node = with_outer_description(node, &says);
                    if !self.branches.iter().any(|(k, n)| *k == kind && *n == node) {
                        self.branches.push((kind, node));
                    }
                }
            }
        }
        None
    }

    fn into_shape(mut self, says: SchemaObject) -> Shape {
        match self.branches.len() {
            0 if self.nullable => Shape::One {
                kind: "null".to_owned(),
                nullable: true,
                node: says,
            },
            0 => Shape::Never,
            1 => {
                let (kind, node) = self.branches.remove(0);
                Shape::One {
                    kind,
                    nullable: self.nullable,
                    node: override_annotations(node, says),
                }
            }
            _ => Shape::Choice {
                nullable: self.nullable,
                says,
                branches: self.branches,
            },
        }
    }
}

/// The schema with what was said about it outside, where it says nothing itself.
fn with_outer_description(mut node: SchemaObject, says: &SchemaObject) -> SchemaObject {
    for (keyword, value) in says {
        if keyword == "description" && !node.contains_key(keyword) {
            node.insert(keyword.clone(), value.clone());
        }
    }
    node
}

/// The schema with what was said about it outside having the word.
fn override_annotations(mut node: SchemaObject, says: SchemaObject) -> SchemaObject {
    for (keyword, value) in says {
        node.insert(keyword, value);
    }
    node
}

fn by_type(mut node: SchemaObject, notes: &mut ConversionContext) -> Shape {
    let mut types = types_of(&node);
    node.shift_remove("type");
    if types.is_empty() {
        types = guessed_types(&node, notes);
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
        // A list of values without `null` does not take it, whatever the types say.
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
        return match only(kind, node) {
            Some(node) => Shape::One {
                kind: kind.clone(),
                nullable,
                node,
            },
            None => Shape::Never,
        };
    }
    let says = take_annotations(&mut node);
    let mut found = Alternatives {
        nullable,
        branches: Vec::new(),
    };
    for kind in types {
        if !notes.may_copy(size(&Value::Object(node.clone()))) {
            notes.lose(LossKind::SizeCut, format!("type {kind}"));
            continue;
        }
        if let Some(node) = only(&kind, node.clone()) {
            found.branches.push((kind, node));
        }
    }
    found.into_shape(says)
}

/// The schema with only what concerns one type; `None` when its list of values has none of it.
fn only(kind: &str, mut node: SchemaObject) -> Option<SchemaObject> {
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

/// The types that the other keywords speak of.
fn guessed_types(node: &SchemaObject, notes: &mut ConversionContext) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    if let Some(Value::Array(values)) = node.get("enum") {
        for value in values {
            let of = type_of(value).to_owned();
            if !types.contains(&of) {
                types.push(of);
            }
        }
        // The values say their types themselves; nothing was guessed.
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
        notes.lose(LossKind::TypeGuessed, types.join(", "));
    }
    types
}
