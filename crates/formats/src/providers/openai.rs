//! OpenAI: the root is an object without combinators, arrays have `items`, and strict mode is used where possible.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::SchemaObject;
use crate::keywords::CONDITIONS;
use crate::loss::LossKind;
use crate::passes::inline::{Recursion, inline};
use crate::passes::patterns::portable_patterns;
use crate::passes::rename::{PARAMETER, rename_properties};
use crate::passes::root::flatten_root;
use crate::passes::tuples::ensure_items;
use crate::providers::{ProviderSchema, strict};
use crate::restore::{ArgumentPath, RestoreBuilder};

pub(crate) fn prepare(
    root: SchemaObject,
    wants_strict: bool,
    ctx: &mut ConversionContext,
) -> ProviderSchema {
    let mut root = inline(root, Recursion::Keep, ctx);
    let sentences = flatten_root(&mut root, ctx);
    portable_patterns(&mut root, ctx);
    let mut restore = RestoreBuilder::default();
    rename_properties(
        &mut root,
        PARAMETER,
        &ArgumentPath::new(),
        &mut restore,
        ctx,
    );
    if wants_strict {
        // Works on copies, so that losses of a failed attempt are discarded.
        let (mut strict_ctx, mut strict_restore) = (ctx.clone(), restore.clone());
        match strict::rewrite(root.clone(), &mut strict_restore, &mut strict_ctx) {
            Ok(schema) => {
                *ctx = strict_ctx;
                return ProviderSchema {
                    schema: Some(Value::Object(schema)),
                    sentences,
                    restore: strict_restore.build(),
                    strict: true,
                };
            }
            Err(reason) => ctx.record_loss(LossKind::NotStrict, reason),
        }
    }
    ensure_items(&mut root, ctx);
    for keyword in CONDITIONS {
        if root.shift_remove(keyword).is_some() {
            ctx.record_loss(LossKind::ConditionDropped, keyword);
        }
    }
    ProviderSchema {
        schema: Some(Value::Object(root)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
