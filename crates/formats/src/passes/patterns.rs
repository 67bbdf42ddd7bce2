//! Regular expressions that a provider does not support.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, append_description, detail, sentence};
use crate::keywords::each_child;
use crate::loss::LossKind;
use crate::pattern::is_portable;

/// Moves unsupported patterns to the description.
pub(crate) fn portable_patterns(node: &mut SchemaObject, ctx: &mut ConversionContext) {
    if let Some(pattern) = node.get("pattern").cloned()
        && !pattern.as_str().is_some_and(is_portable)
    {
        node.shift_remove("pattern");
        if let Some(sentence) = sentence("pattern", &pattern) {
            append_description(node, &sentence);
        }
        ctx.record_loss(
            LossKind::ConstraintInWords,
            format!("pattern {}", detail(&pattern)),
        );
    }
    if let Some(Value::Object(patterns)) = node.get_mut("patternProperties") {
        let refused: Vec<String> = patterns
            .keys()
            .filter(|p| !is_portable(p))
            .cloned()
            .collect();
        for pattern in refused {
            patterns.shift_remove(&pattern);
            let text = detail(&Value::String(pattern));
            ctx.record_loss(
                LossKind::ConstraintDropped,
                format!("patternProperties {text}"),
            );
        }
    }
    each_child(node, ctx, &mut |child, ctx| {
        if let Value::Object(child) = child {
            portable_patterns(child, ctx);
        }
    });
}
