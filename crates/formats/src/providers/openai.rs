//! OpenAI: an object at the root without combinators, lists that say of what, and the strict mode where the
//! schema fits it.

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
use crate::restore::{Place, RestoreBuilder};

pub(crate) fn prepare(
    root: SchemaObject,
    wants_strict: bool,
    notes: &mut ConversionContext,
) -> ProviderSchema {
    let mut root = inline(root, Recursion::Keep, notes);
    let sentences = flatten_root(&mut root, notes);
    portable_patterns(&mut root, notes);
    let mut restore = RestoreBuilder::default();
    rename_properties(&mut root, PARAMETER, &Place::new(), &mut restore, notes);
    if wants_strict {
        // Tried on copies: what a failed try would have lost is not lost.
        let (mut strict_notes, mut strict_restore) = (notes.clone(), restore.clone());
        match strict::rewrite(root.clone(), &mut strict_restore, &mut strict_notes) {
            Ok(schema) => {
                *notes = strict_notes;
                return ProviderSchema {
                    schema: Some(Value::Object(schema)),
                    sentences,
                    restore: strict_restore.build(),
                    strict: true,
                };
            }
            Err(reason) => notes.lose(LossKind::NotStrict, reason),
        }
    }
    ensure_items(&mut root, notes);
    for keyword in CONDITIONS {
        if root.shift_remove(keyword).is_some() {
            notes.lose(LossKind::ConditionDropped, keyword);
        }
    }
    ProviderSchema {
        schema: Some(Value::Object(root)),
        sentences,
        restore: restore.build(),
        strict: false,
    }
}
