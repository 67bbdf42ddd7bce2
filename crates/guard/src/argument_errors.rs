//! Error messages for invalid arguments, written so that the caller can correct the call.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use pegboard_model::UntrustedText;
use serde_json::{Map, Value};

use crate::signature::type_summary;

/// Maximum number of characters of a schema in a message.
pub(crate) const SHOWN: usize = 160;
/// Maximum number of characters of a suggested argument name.
const SHOWN_NAME: usize = 60;
/// Maximum number of names that are compared with an unknown one.
const COMPARED: usize = 200;
/// Maximum bytes of a string that is parsed to see whether it contains the expected value.
const PARSED_BYTES: usize = 64 * 1024;
/// Minimum similarity, from 0 to 1, of a suggested name.
const MIN_SIMILARITY: f64 = 0.6;

/// One validation error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The affected field as a JSON pointer; empty for the arguments as a whole.
    pub field: String,
    /// What is wrong, as a predicate that follows the field: `is missing`.
    pub problem: String,
}

/// Converts a validation error to messages that never contain the caller's values.
pub(crate) fn explain(root: &Value, error: &ValidationError<'_>, errors: &mut Vec<ArgumentError>) {
    let place = error.instance_path().to_string();
    let child = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    let mut report = |field: String, problem: String| errors.push(ArgumentError { field, problem });
    let schema = || {
        let path = error.schema_path().to_string();
        root.pointer(path.rsplit_once('/')?.0)
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            let known = schema().and_then(properties);
            let given = error.instance().as_object().into_iter().flat_map(Map::keys);
            let unknown = given.filter(|given| known.is_some_and(|k| !k.contains_key(*given)));
            let problem = match nearest(name, unknown.map(String::as_str)) {
                Some(given) => format!("is missing; `{given}` is unknown"),
                None => "is missing".to_owned(),
            };
            report(child(name), problem);
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = schema().and_then(properties);
            for name in unexpected {
                let names = known.into_iter().flat_map(Map::keys).map(String::as_str);
                let problem = match nearest(name, names) {
                    Some(meant) => format!("is unknown (did you mean `{meant}`?)"),
                    None => "is unknown".to_owned(),
                };
                report(child(name), problem);
            }
        }
        ValidationErrorKind::Type { kind } => {
            let wanted: Vec<String> = match kind {
                TypeKind::Single(one) => vec![one.to_string()],
                TypeKind::Multiple(several) => {
                    several.iter().map(|kind| kind.to_string()).collect()
                }
            };
            let hint = match is_quoted(error.instance(), &wanted) {
                true => "; pass the value itself, not a string that contains it",
                false => "",
            };
            let (wanted, given) = (wanted.join(" or "), kind_of(error.instance()));
            report(place, format!("must be {wanted}, not {given}{hint}"));
        }
        ValidationErrorKind::Enum { options } => {
            let written = options.to_string();
            let shown = UntrustedText::new(&written).shortened(SHOWN).to_string();
            let count = options.as_array().map_or(0, Vec::len);
            let total = if written.chars().count() > SHOWN {
                format!(" ({count} in all)")
            } else {
                String::new()
            };
            report(place, format!("must be one of {shown}{total}"));
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            let forms = schema().map(|schema| type_summary(root, schema));
            let problem = match forms.filter(|forms| forms != "any") {
                Some(forms) => format!("matches none of the allowed types ({forms})"),
                None => "matches none of the allowed types".to_owned(),
            };
            report(place, problem);
        }
        // A pattern whose engine gave up has no result.
        ValidationErrorKind::RegexEngineFailure { .. } => {}
        _ => {
            let text = error.masked_with("it").to_string();
            report(
                place,
                format!("is invalid: {}", UntrustedText::new(&text).shortened(SHOWN)),
            );
        }
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The most similar name, escaped for display.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let name = folded(name);
    let similarity = |other: &str| strsim::normalized_damerau_levenshtein(&name, &folded(other));
    let similar = names
        .take(COMPARED)
        .map(|other| (similarity(other), other))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    let (_, nearest) = similar.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(
        UntrustedText::new(nearest)
            .shortened(SHOWN_NAME)
            .to_string(),
    )
}

/// The name without the characters and case in which spellings differ.
fn folded(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    kept.take(SHOWN_NAME).flat_map(char::to_lowercase).collect()
}

/// Whether a string contains JSON of one of the wanted types.
fn is_quoted(value: &Value, wanted: &[String]) -> bool {
    let Some(text) = value.as_str().filter(|text| text.len() <= PARSED_BYTES) else {
        return false;
    };
    let held = serde_json::from_str::<Value>(text).ok();
    held.is_some_and(|held| {
        let kind = kind_of(&held);
        wanted
            .iter()
            .any(|wanted| wanted == kind || wanted == "number" && held.is_number())
    })
}

pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
