//! Tuples, and arrays without `items`.

use serde_json::{Value, json};

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::keywords::{each_child, types_of};
use crate::loss::LossKind;
use crate::passes::clean::is_never;

/// Converts every tuple to an array of the tuple's types, and adds `items` to every array.
pub(crate) fn ensure_items(node: &mut SchemaObject, ctx: &mut ConversionContext) {
    widen_tuple(node, ctx);
    if types_of(node).iter().any(|t| t == "array") && !node.contains_key("items") {
        node.insert("items".to_owned(), json!({}));
    }
    each_child(node, ctx, &mut |child, ctx| {
        if let Value::Object(child) = child {
            ensure_items(child, ctx);
        }
    });
}

/// Converts the tuple of one schema.
pub(crate) fn widen_tuple(node: &mut SchemaObject, ctx: &mut ConversionContext) {
    let Some(Value::Array(tuple)) = node.shift_remove("prefixItems") else {
        return;
    };
    ctx.record_loss(LossKind::TupleWidened, format!("{} items", tuple.len()));
    let rest = node.shift_remove("items");
    let closed = rest
        .as_ref()
        .and_then(Value::as_object)
        .is_some_and(is_never);
    let mut kinds: Vec<Value> = Vec::new();
    let length = tuple.len();
    for kind in tuple.into_iter().chain(rest.filter(|_| !closed)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if closed && !node.contains_key("maxItems") {
        node.insert("maxItems".to_owned(), json!(length));
    }
    let items = match kinds.len() {
        1 => kinds.remove(0),
        _ => json!({ "anyOf": kinds }),
    };
    node.insert("items".to_owned(), items);
}
