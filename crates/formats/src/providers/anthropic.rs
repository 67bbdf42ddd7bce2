//! Anthropic: any JSON Schema of draft 2020-12 whose root is an object without combinators, with ASCII parameter names.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::passes::inline::{Recursion, inline};
use crate::passes::patterns::portable_patterns;
use crate::passes::rename::{PARAMETER, rename_properties};
use crate::passes::root::flatten_root;
use crate::providers::ProviderSchema;
use crate::restore::{ArgumentPath, RestoreBuilder};

pub(crate) fn prepare(root: SchemaObject, ctx: &mut ConversionContext) -> ProviderSchema {
    let mut root = inline(root, Recursion::Keep, ctx);
    let sentences = flatten_root(&mut root, ctx);
    portable_patterns(&mut root, ctx);
    let mut restore = RestoreBuilder::default();
    // Nested names are not checked by the provider.
    rename_properties(
        &mut root,
        PARAMETER,
        &ArgumentPath::new(),
        &mut restore,
        ctx,
    );
    ProviderSchema {
        schema: Some(Value::Object(root)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
