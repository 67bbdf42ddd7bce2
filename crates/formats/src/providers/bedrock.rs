//! Bedrock's Converse: what every model behind it takes. Some refuse a root with more than `type`,
//! `properties` and `required`, which also means that nothing can be referred to.

use serde_json::Value;

use crate::notes::Notes;
use crate::passes::inline::{Recursion, inline};
use crate::passes::patterns::portable_patterns;
use crate::passes::rename::{PARAMETER, rename_properties};
use crate::passes::root::one_object;
use crate::providers::Prepared;
use crate::providers::rest::say_rest;
use crate::restore::{Place, RestoreBuilder};
use crate::words::Node;

pub(crate) fn prepare(root: Node, notes: &mut Notes) -> Prepared {
    let mut root = inline(root, Recursion::Cut, notes);
    let mut sentences = one_object(&mut root, notes);
    portable_patterns(&mut root, notes);
    let mut restore = RestoreBuilder::default();
    rename_properties(&mut root, PARAMETER, &Place::new(), &mut restore, notes);
    let mut kept = Node::new();
    for keyword in ["type", "properties", "required"] {
        if let Some(value) = root.shift_remove(keyword) {
            kept.insert(keyword.to_owned(), value);
        }
    }
    let mut said = Node::new();
    say_rest(root, &mut said, notes);
    if let Some(Value::String(text)) = said.shift_remove("description") {
        sentences.push(text);
    }
    Prepared {
        schema: Some(Value::Object(kept)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
