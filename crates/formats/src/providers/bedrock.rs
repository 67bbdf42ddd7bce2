//! Bedrock's Converse: what every model behind it takes. Some refuse a root with more than `type`,
//! `properties` and `required`, which also means that nothing can be referred to.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::passes::inline::{Recursion, inline};
use crate::passes::patterns::portable_patterns;
use crate::passes::rename::{PARAMETER, rename_properties};
use crate::passes::root::flatten_root;
use crate::providers::ProviderSchema;
use crate::providers::unsupported_keywords::describe_unsupported;
use crate::restore::{Place, RestoreBuilder};

pub(crate) fn prepare(root: SchemaObject, notes: &mut ConversionContext) -> ProviderSchema {
    let mut root = inline(root, Recursion::Cut, notes);
    let mut sentences = flatten_root(&mut root, notes);
    portable_patterns(&mut root, notes);
    let mut restore = RestoreBuilder::default();
    rename_properties(&mut root, PARAMETER, &Place::new(), &mut restore, notes);
    let mut kept = SchemaObject::new();
    for keyword in ["type", "properties", "required"] {
        if let Some(value) = root.shift_remove(keyword) {
            kept.insert(keyword.to_owned(), value);
        }
    }
    let mut said = SchemaObject::new();
    describe_unsupported(root, &mut said, notes);
    if let Some(Value::String(text)) = said.shift_remove("description") {
        sentences.push(text);
    }
    ProviderSchema {
        schema: Some(Value::Object(kept)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
