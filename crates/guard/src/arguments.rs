//! Validation of arguments against a tool's own schema, before its server is contacted.

use jsonschema::Validator;
use pegboard_model::{Reason, Tool, ToolError, ToolResult, UntrustedText};
use serde_json::Value;

use crate::argument_errors::{ArgumentError, SHOWN, explain, kind_of};
use crate::dialect::{draft_for, draft_named};
use crate::regex_limits::{drop_surplus_patterns, drop_unusable_patterns, linear_patterns};
use crate::validation_cost::SchemaFeatures;
use crate::{signature, validation_cost};

/// Maximum size of all arguments in bytes.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest field path in bytes that is reported in full.
const FIELD_BYTES: usize = 1_000;
/// Maximum number of reported errors.
const ERRORS_SHOWN: usize = 5;

/// A compiled schema that validates arguments.
pub struct ArgumentValidator {
    schema: Value,
    features: SchemaFeatures,
    validator: Validator,
}

impl ArgumentValidator {
    /// Compiles the text of a schema. Returns `None` if it is not a valid schema or has unresolved references; then
    /// validation is left to the server.
    pub fn new(schema: &str) -> Option<Self> {
        Self::prepare(schema, false)
    }

    /// Like [`Self::new`], but strict: strings must match the `format` of the schema, and an unsupported pattern makes
    /// the schema unusable.
    pub fn strict(schema: &str) -> Option<Self> {
        Self::prepare(schema, true)
    }

    fn prepare(schema: &str, strict: bool) -> Option<Self> {
        let mut schema: Value = serde_json::from_str(schema).ok()?;
        let dialect = schema.as_object_mut()?.shift_remove("$schema");
        let dialect = dialect.as_ref().and_then(Value::as_str);
        let dialect = dialect.unwrap_or_default();
        let draft = match strict {
            // The known formats depend on the draft.
            true => draft_named(dialect),
            false => draft_for(dialect, &schema),
        };
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
        Some(Self {
            features: SchemaFeatures::of(&schema),
            schema,
            validator,
        })
    }

    /// Returns the first validation errors; empty if the arguments are valid, `None` if validation would exceed the cost
    /// limit.
    pub fn errors(&self, arguments: &Value) -> Option<Vec<ArgumentError>> {
        if !validation_cost::is_bounded(&self.schema, self.features, arguments) {
            return None;
        }
        let mut errors = Vec::new();
        // Collecting errors costs far more than checking validity.
        if self.validator.is_valid(arguments) {
            return Some(errors);
        }
        for error in self.validator.iter_errors(arguments) {
            explain(&self.schema, &error, &mut errors);
            if errors.len() >= ERRORS_SHOWN {
                break;
            }
        }
        errors.truncate(ERRORS_SHOWN);
        Some(errors)
    }
}

/// Checks arguments against a tool's schema. An unusable schema does not block calls, because the server validates them
/// as well.
///
/// # Errors
///
/// Returns [`Reason::ArgsInvalid`] with the first errors and the tool's signature.
pub fn check_arguments(tool: &Tool, arguments: &Value) -> ToolResult<()> {
    let validator = ArgumentValidator::new(tool.input_schema());
    let signature = || signature(tool);
    check_arguments_with(
        validator.as_ref(),
        tool.exposed.as_str(),
        signature,
        arguments,
    )
}

/// Like [`check_arguments`], with a schema that is already compiled.
///
/// # Errors
///
/// Returns [`Reason::ArgsInvalid`] with the first errors and the tool's signature.
pub fn check_arguments_with(
    validator: Option<&ArgumentValidator>,
    exposed: &str,
    signature: impl FnOnce() -> String,
    arguments: &Value,
) -> ToolResult<()> {
    let errors = if !arguments.is_object() {
        let problem = format!("must be an object, not {}", kind_of(arguments));
        vec![ArgumentError {
            field: String::new(),
            problem,
        }]
    } else if text_bytes(arguments) > ARGUMENTS_BYTES_MAX {
        let problem = format!("are larger than the allowed {ARGUMENTS_BYTES_MAX} bytes");
        vec![ArgumentError {
            field: String::new(),
            problem,
        }]
    } else {
        validator
            .and_then(|validator| validator.errors(arguments))
            .unwrap_or_default()
    };
    let Some(first) = errors.first() else {
        return Ok(());
    };
    let shown: Vec<String> = errors
        .iter()
        .map(|error| match error.field.as_str() {
            "" => format!("they {}", error.problem),
            field => format!(
                "`{}` {}",
                UntrustedText::new(field).shortened(SHOWN),
                error.problem
            ),
        })
        .collect();
    let message = format!(
        "invalid arguments for `{}`: {}. Its signature is `{}`.",
        exposed,
        shown.join("; "),
        signature(),
    );
    let field = match first.field.len() {
        ..=FIELD_BYTES => first.field.clone(),
        _ => UntrustedText::new(&first.field)
            .shortened(SHOWN)
            .to_string(),
    };
    Err(ToolError::new(Reason::ArgsInvalid, message)
        .at_tool(exposed)
        .at_field(field))
}

/// Approximate size of a value as JSON. Recursion is bounded by the parser's nesting limit.
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
