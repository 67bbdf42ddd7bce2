//! Bedrock Converse: the subset that all its models accept. Some reject a root with more than `type`, `properties` and
//! `required`, so references are not possible.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::passes::inline::{Recursion, inline};
use crate::passes::patterns::portable_patterns;
use crate::passes::rename::{PARAMETER, rename_properties};
use crate::passes::root::flatten_root;
use crate::providers::ProviderSchema;
use crate::providers::unsupported_keywords::describe_unsupported;
use crate::restore::{ArgumentPath, RestoreBuilder};

pub(crate) fn prepare(root: SchemaObject, ctx: &mut ConversionContext) -> ProviderSchema {
    let mut root = inline(root, Recursion::Cut, ctx);
    let mut sentences = flatten_root(&mut root, ctx);
    portable_patterns(&mut root, ctx);
    let mut restore = RestoreBuilder::default();
    rename_properties(
        &mut root,
        PARAMETER,
        &ArgumentPath::new(),
        &mut restore,
        ctx,
    );
    let mut kept = SchemaObject::new();
    for keyword in ["type", "properties", "required"] {
        if let Some(value) = root.shift_remove(keyword) {
            kept.insert(keyword.to_owned(), value);
        }
    }
    let mut described = SchemaObject::new();
    describe_unsupported(root, &mut described, ctx);
    if let Some(Value::String(text)) = described.shift_remove("description") {
        sentences.push(text);
    }
    ProviderSchema {
        schema: Some(Value::Object(kept)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
