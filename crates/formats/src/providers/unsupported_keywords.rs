//! Keywords that a provider does not support.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, append_description, detail, join_values, sentence};
use crate::keywords::CONDITIONS;
use crate::loss::LossKind;

/// Moves unsupported keywords into the description where possible, and reports each of them as a loss.
pub(crate) fn describe_unsupported(
    rest: SchemaObject,
    target: &mut SchemaObject,
    ctx: &mut ConversionContext,
) {
    for (keyword, value) in rest {
        let name = keyword.as_str();
        match name {
            "default" => {
                // A default of `null` means the same as no default.
                if !value.is_null() {
                    describe_keyword(name, &value, target);
                    ctx.record_loss(LossKind::DefaultInWords, detail(&value));
                }
            }
            "examples" => match &value {
                Value::Array(values) if !values.is_empty() => {
                    append_description(target, &format!("For example: {}.", join_values(values)));
                    ctx.record_loss(LossKind::ExampleInWords, detail(&value));
                }
                _ => {}
            },
            "enum" => {
                if let Value::Array(values) = &value {
                    append_description(target, &format!("One of: {}.", join_values(values)));
                }
                ctx.record_loss(LossKind::EnumInWords, detail(&value));
            }
            "deprecated" if value == true => {
                append_description(target, "Deprecated.");
                ctx.record_loss(LossKind::AnnotationDropped, name);
            }
            "uniqueItems" | "deprecated" if value == false => {}
            "title" | "description" | "deprecated" | "readOnly" | "writeOnly" => {
                ctx.record_loss(
                    LossKind::AnnotationDropped,
                    format!("{name} {}", detail(&value)),
                );
            }
            "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" => {
                // Objects are open by default.
                if value != true {
                    ctx.record_loss(
                        LossKind::OpennessDropped,
                        format!("{name} {}", detail(&value)),
                    );
                }
            }
            name if CONDITIONS.contains(&name) => ctx.record_loss(LossKind::ConditionDropped, name),
            name if describe_keyword(name, &value, target) => {
                ctx.record_loss(
                    LossKind::ConstraintInWords,
                    format!("{name} {}", detail(&value)),
                );
            }
            name => ctx.record_loss(
                LossKind::ConstraintDropped,
                format!("{name} {}", detail(&value)),
            ),
        }
    }
}

fn describe_keyword(keyword: &str, value: &Value, target: &mut SchemaObject) -> bool {
    match sentence(keyword, value) {
        Some(sentence) => {
            append_description(target, &sentence);
            true
        }
        None => false,
    }
}
