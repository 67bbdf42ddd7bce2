//! A mistake in some arguments, in words that lead to a better try.

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use pegboard_model::UntrustedText;
use serde_json::{Map, Value};

use crate::signature::type_summary;

/// Characters of a schema's own words in a message.
pub(crate) const SHOWN: usize = 160;
/// Characters of an argument's name that are shown as one that may have been meant.
const SHOWN_NAME: usize = 60;
/// Names that are compared with one that is not known.
const COMPARED: usize = 200;
/// Bytes of a text that is looked into for the value that should have stood there.
const LOOKED_INTO: usize = 64 * 1024;
/// How alike two names must be, from 0 to 1, for one to be meant by the other.
const ALIKE: f64 = 0.6;

/// One mistake in some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// Where it is, as a JSON pointer; empty for the arguments as a whole.
    pub field: String,
    /// What is wrong, to be read after the field: `is missing`.
    pub problem: String,
}

/// Puts a validator's error into words that never repeat the caller's values.
pub(crate) fn explain(root: &Value, error: &ValidationError<'_>, faults: &mut Vec<ArgumentError>) {
    let place = error.instance_path().to_string();
    let child = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    let mut tell = |field: String, problem: String| faults.push(ArgumentError { field, problem });
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
                Some(given) => format!("is missing; `{given}` is not known"),
                None => "is missing".to_owned(),
            };
            tell(child(name), problem);
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = schema().and_then(properties);
            for name in unexpected {
                let names = known.into_iter().flat_map(Map::keys).map(String::as_str);
                let problem = match nearest(name, names) {
                    Some(meant) => format!("is not known; `{meant}` is"),
                    None => "is not known".to_owned(),
                };
                tell(child(name), problem);
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
                true => "; give the value itself, not a text that holds it",
                false => "",
            };
            let (wanted, given) = (wanted.join(" or "), kind_of(error.instance()));
            tell(place, format!("must be {wanted}, not {given}{hint}"));
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
            tell(place, format!("must be one of {shown}{total}"));
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            let forms = schema().map(|schema| type_summary(root, schema));
            let problem = match forms.filter(|forms| forms != "any") {
                Some(forms) => format!("fits none of the allowed forms ({forms})"),
                None => "fits none of the allowed forms".to_owned(),
            };
            tell(place, problem);
        }
        // A pattern that gave up has not decided anything.
        ValidationErrorKind::RegexEngineFailure { .. } => {}
        _ => {
            let words = error.masked_with("it").to_string();
            tell(
                place,
                format!("is wrong: {}", UntrustedText::new(&words).shortened(SHOWN)),
            );
        }
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The name that is most like another, ready to be shown.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let name = folded(name);
    let similarity = |other: &str| strsim::normalized_damerau_levenshtein(&name, &folded(other));
    let alike = names
        .take(COMPARED)
        .map(|other| (similarity(other), other))
        .filter(|(similarity, _)| *similarity >= ALIKE);
    let (_, nearest) = alike.max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(
        UntrustedText::new(nearest)
            .shortened(SHOWN_NAME)
            .to_string(),
    )
}

/// Without what spellings of one name differ in.
fn folded(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    kept.take(SHOWN_NAME).flat_map(char::to_lowercase).collect()
}

/// Whether a text holds, as JSON, a value of one of the wanted kinds.
fn is_quoted(value: &Value, wanted: &[String]) -> bool {
    let Some(text) = value.as_str().filter(|text| text.len() <= LOOKED_INTO) else {
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
