//! Arguments against a tool's own schema, before a server is touched.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, ValidationError, Validator};
use pegboard_model::{Foreign, Reason, Tool, ToolError, ToolResult};
use serde_json::Value;

use crate::linear::{drop_surplus_patterns, drop_unusable_patterns, linear_patterns};
use crate::{effort, signature};

/// Bytes that arguments may hold in all.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Mistakes that are told at once.
const FAULTS_SHOWN: usize = 5;
/// Characters of a schema's own words in a message.
const SHOWN: usize = 160;

/// One mistake in some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it is, as a JSON pointer; empty for the arguments as a whole.
    pub field: String,
    /// What is wrong, to be read after the field: `is missing`.
    pub problem: String,
}

/// A schema made ready to check arguments.
pub struct ArgumentCheck {
    schema: Value,
    validator: Validator,
}

impl ArgumentCheck {
    /// Prepares the text of a schema. `None` when it is not a schema, or refers to what is not in it:
    /// then the server itself is the judge.
    pub fn of(schema: &str) -> Option<Self> {
        Self::prepare(schema, false)
    }

    /// The same for somebody who must be sure: texts must also have the `format` that the schema names,
    /// and a pattern that cannot be checked makes the schema unusable.
    pub fn with_formats(schema: &str) -> Option<Self> {
        Self::prepare(schema, true)
    }

    fn prepare(schema: &str, strict: bool) -> Option<Self> {
        let mut schema: Value = serde_json::from_str(schema).ok()?;
        let dialect = schema.as_object_mut()?.shift_remove("$schema");
        let draft = draft_of(dialect.as_ref().and_then(Value::as_str).unwrap_or_default());
        if drop_surplus_patterns(&mut schema) && strict {
            return None;
        }
        let build = |schema: &Value| {
            let options = jsonschema::options()
                .with_draft(draft)
                .should_validate_formats(strict);
            options
                .with_pattern_options(linear_patterns())
                .offline()
                .build(schema)
        };
        let validator = match build(&schema) {
            Ok(validator) => validator,
            Err(_) if strict => return None,
            Err(_) => {
                drop_unusable_patterns(&mut schema);
                build(&schema).ok()?
            }
        };
        Some(Self { schema, validator })
    }

    /// The first mistakes in some arguments; none when they fit, `None` when that cannot be told within
    /// a fixed effort.
    pub fn faults(&self, arguments: &Value) -> Option<Vec<Fault>> {
        if !effort::is_bounded(&self.schema, arguments) {
            return None;
        }
        let mut faults = Vec::new();
        for error in self.validator.iter_errors(arguments) {
            explain(&error, &mut faults);
            if faults.len() >= FAULTS_SHOWN {
                break;
            }
        }
        faults.truncate(FAULTS_SHOWN);
        Some(faults)
    }
}

/// Checks arguments against a tool's schema as the server wrote it. A schema that cannot be used blocks
/// no call: the server checks again in any case.
pub fn check_arguments(tool: &Tool, arguments: &Value) -> ToolResult<()> {
    let check = ArgumentCheck::of(tool.input_schema());
    let signature = || signature(tool);
    check_prepared(check.as_ref(), tool.exposed.as_str(), signature, arguments)
}

/// The same with a schema that was made ready before, for a tool of any kind.
pub fn check_prepared(
    check: Option<&ArgumentCheck>,
    exposed: &str,
    signature: impl FnOnce() -> String,
    arguments: &Value,
) -> ToolResult<()> {
    let faults = if !arguments.is_object() {
        let problem = format!("must be an object, not {}", kind_of(arguments));
        vec![Fault {
            field: String::new(),
            problem,
        }]
    } else if text_bytes(arguments) > ARGUMENTS_BYTES_MAX {
        let problem = format!("hold more than the allowed {ARGUMENTS_BYTES_MAX} bytes");
        vec![Fault {
            field: String::new(),
            problem,
        }]
    } else {
        check
            .and_then(|check| check.faults(arguments))
            .unwrap_or_default()
    };
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let told: Vec<String> = faults
        .iter()
        .map(|fault| match fault.field.as_str() {
            "" => format!("they {}", fault.problem),
            field => format!(
                "`{}` {}",
                Foreign::new(field).shortened(SHOWN),
                fault.problem
            ),
        })
        .collect();
    let message = format!(
        "the arguments of `{}` do not fit: {}. It takes `{}`.",
        exposed,
        told.join("; "),
        signature(),
    );
    let field = first.field.clone();
    Err(ToolError::new(Reason::ArgsInvalid, message)
        .at_tool(exposed)
        .at_field(field))
}

fn draft_of(dialect: &str) -> Draft {
    let drafts = [
        ("draft-04", Draft::Draft4),
        ("draft-06", Draft::Draft6),
        ("draft-07", Draft::Draft7),
        ("2019-09", Draft::Draft201909),
    ];
    let known = drafts.into_iter().find(|(name, _)| dialect.contains(name));
    known.map_or(Draft::Draft202012, |(_, draft)| draft)
}

/// Puts a validator's error into words that never repeat the caller's values.
fn explain(error: &ValidationError<'_>, faults: &mut Vec<Fault>) {
    let place = error.instance_path().to_string();
    let child = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    let mut tell = |field: String, problem: String| faults.push(Fault { field, problem });
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            tell(
                child(property.as_str().unwrap_or_default()),
                "is missing".to_owned(),
            );
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unexpected
                .iter()
                .for_each(|name| tell(child(name), "is not known".to_owned()));
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(several) => {
                    let several: Vec<String> =
                        several.iter().map(|kind| kind.to_string()).collect();
                    several.join(" or ")
                }
            };
            tell(
                place,
                format!("must be {wanted}, not {}", kind_of(error.instance())),
            );
        }
        ValidationErrorKind::Enum { options } => {
            let written = options.to_string();
            let shown = Foreign::new(&written).shortened(SHOWN).to_string();
            let count = options.as_array().map_or(0, Vec::len);
            let total = if written.chars().count() > SHOWN {
                format!(" ({count} in all)")
            } else {
                String::new()
            };
            tell(place, format!("must be one of {shown}{total}"));
        }
        // A pattern that gave up has not decided anything.
        ValidationErrorKind::RegexEngineFailure { .. } => {}
        _ => {
            let words = error.masked_with("it").to_string();
            tell(
                place,
                format!("is wrong: {}", Foreign::new(&words).shortened(SHOWN)),
            );
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
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

/// About the bytes that a value takes as JSON; the nesting is bounded by the parser that made it.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| text_bytes(item) + 1).sum::<usize>(),
        Value::Object(map) => {
            2 + map
                .iter()
                .map(|(key, item)| key.len() + text_bytes(item) + 4)
                .sum::<usize>()
        }
        _ => 4,
    }
}
