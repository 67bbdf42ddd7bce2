//! Anthropic: any JSON Schema of draft 2020-12 that is an object at its root, without a combinator there, with
//! parameters named in ASCII.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::passes::inline::{Recursion, inline};
use crate::passes::patterns::portable_patterns;
use crate::passes::rename::{PARAMETER, rename_properties};
use crate::passes::root::flatten_root;
use crate::providers::ProviderSchema;
use crate::restore::{Place, RestoreBuilder};

pub(crate) fn prepare(root: SchemaObject, notes: &mut ConversionContext) -> ProviderSchema {
    let mut root = inline(root, Recursion::Keep, notes);
    let sentences = flatten_root(&mut root, notes);
    portable_patterns(&mut root, notes);
    let mut restore = RestoreBuilder::default();
    // Names further down are not looked at.
    rename_properties(&mut root, PARAMETER, &Place::new(), &mut restore, notes);
    ProviderSchema {
        schema: Some(Value::Object(root)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
