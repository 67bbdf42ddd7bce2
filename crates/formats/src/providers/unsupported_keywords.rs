//! Keywords that a provider does not take.

use serde_json::Value;

use crate::context::ConversionContext;
use crate::description_text::{SchemaObject, detail, listed, say, sentence};
use crate::keywords::CONDITIONS;
use crate::loss::LossKind;

/// Says in words what can be said in words, and reports every keyword that is left over.
pub(crate) fn describe_unsupported(
    rest: SchemaObject,
    said: &mut SchemaObject,
    notes: &mut ConversionContext,
) {
    for (keyword, value) in rest {
        let name = keyword.as_str();
        match name {
            "default" => {
                // "Nothing" as the default is what leaving it out means anyway.
                if !value.is_null() {
                    say_one(name, &value, said);
                    notes.lose(LossKind::DefaultInWords, detail(&value));
                }
            }
            "examples" => match &value {
                Value::Array(values) if !values.is_empty() => {
                    say(said, &format!("For example: {}.", listed(values)));
                    notes.lose(LossKind::ExampleInWords, detail(&value));
                }
                _ => {}
            },
            "enum" => {
                if let Value::Array(values) = &value {
                    say(said, &format!("One of: {}.", listed(values)));
                }
                notes.lose(LossKind::EnumInWords, detail(&value));
            }
            "deprecated" if value == true => {
                say(said, "Deprecated.");
                notes.lose(LossKind::AnnotationDropped, name);
            }
            "uniqueItems" | "deprecated" if value == false => {}
            "title" | "description" | "deprecated" | "readOnly" | "writeOnly" => {
                notes.lose(
                    LossKind::AnnotationDropped,
                    format!("{name} {}", detail(&value)),
                );
            }
            "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" => {
                // Being open is what objects are when they say nothing.
                if value != true {
                    notes.lose(
                        LossKind::OpennessDropped,
                        format!("{name} {}", detail(&value)),
                    );
                }
            }
            name if CONDITIONS.contains(&name) => notes.lose(LossKind::ConditionDropped, name),
            name if say_one(name, &value, said) => {
                notes.lose(
                    LossKind::ConstraintInWords,
                    format!("{name} {}", detail(&value)),
                );
            }
            name => notes.lose(
                LossKind::ConstraintDropped,
                format!("{name} {}", detail(&value)),
            ),
        }
    }
}

fn say_one(keyword: &str, value: &Value, said: &mut SchemaObject) -> bool {
    match sentence(keyword, value) {
        Some(sentence) => {
            say(said, &sentence);
            true
        }
        None => false,
    }
}
