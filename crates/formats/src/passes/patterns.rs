//! Regular expressions that a provider's checker cannot read.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail, say, sentence};
use crate::keywords::each_child;
use crate::loss::LossKind;
use crate::pattern::is_portable;

/// Says patterns in words that the checkers would refuse the schema for.
pub(crate) fn portable_patterns(node: &mut SchemaObject, notes: &mut ConversionContext) {
    if let Some(pattern) = node.get("pattern").cloned()
        && !pattern.as_str().is_some_and(is_portable)
    {
        node.shift_remove("pattern");
        if let Some(sentence) = sentence("pattern", &pattern) {
            say(node, &sentence);
        }
        notes.lose(
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
            notes.lose(
                LossKind::ConstraintDropped,
                format!("patternProperties {text}"),
            );
        }
    }
    each_child(node, notes, &mut |child, notes| {
        if let Value::Object(child) = child {
            portable_patterns(child, notes);
        }
    });
}
