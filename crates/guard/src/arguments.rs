//! Arguments against a tool's own schema, before a server is touched.

use jsonschema::Validator;
use pegboard_model::{Reason, Tool, ToolError, ToolResult, UntrustedText};
use serde_json::Value;

use crate::argument_errors::{ArgumentError, SHOWN, explain, kind_of};
use crate::dialect::{draft_for, draft_named};
use crate::regex_limits::{drop_surplus_patterns, drop_unusable_patterns, linear_patterns};
use crate::validation_cost::SchemaFeatures;
use crate::{signature, validation_cost};

/// Bytes that arguments may hold in all.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a field's place that are told whole.
const FIELD_BYTES: usize = 1_000;
/// Mistakes that are told at once.
const FAULTS_SHOWN: usize = 5;
/// A schema made ready to check arguments.
pub struct ArgumentValidator {
    schema: Value,
    features: SchemaFeatures,
    validator: Validator,
}

impl ArgumentValidator {
    /// Prepares the text of a schema. `None` when it is not a schema, or refers to what is not in it:
    /// then the server itself is the judge.
    pub fn new(schema: &str) -> Option<Self> {
        Self::prepare(schema, false)
    }

    /// The same for somebody who must be sure: texts must also have the `format` that the schema names,
    /// and a pattern that cannot be checked makes the schema unusable.
    pub fn strict(schema: &str) -> Option<Self> {
        Self::prepare(schema, true)
    }

    fn prepare(schema: &str, strict: bool) -> Option<Self> {
        let mut schema: Value = serde_json::from_str(schema).ok()?;
        let dialect = schema.as_object_mut()?.shift_remove("$schema");
        let dialect = dialect.as_ref().and_then(Value::as_str);
        let dialect = dialect.unwrap_or_default();
        let draft = match strict {
            // Which formats there are depends on the revision.
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

    /// The first mistakes in some arguments; none when they fit, `None` when that cannot be told within
    /// a fixed effort.
    pub fn errors(&self, arguments: &Value) -> Option<Vec<ArgumentError>> {
        if !validation_cost::is_bounded(&self.schema, self.features, arguments) {
            return None;
        }
        let mut faults = Vec::new();
        // Finding out what is wrong costs far more than that nothing is.
        if self.validator.is_valid(arguments) {
            return Some(faults);
        }
        for error in self.validator.iter_errors(arguments) {
            explain(&self.schema, &error, &mut faults);
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
    let check = ArgumentValidator::new(tool.input_schema());
    let signature = || signature(tool);
    check_arguments_with(check.as_ref(), tool.exposed.as_str(), signature, arguments)
}

/// The same with a schema that was made ready before, for a tool of any kind.
pub fn check_arguments_with(
    check: Option<&ArgumentValidator>,
    exposed: &str,
    signature: impl FnOnce() -> String,
    arguments: &Value,
) -> ToolResult<()> {
    let faults = if !arguments.is_object() {
        let problem = format!("must be an object, not {}", kind_of(arguments));
        vec![ArgumentError {
            field: String::new(),
            problem,
        }]
    } else if text_bytes(arguments) > ARGUMENTS_BYTES_MAX {
        let problem = format!("hold more than the allowed {ARGUMENTS_BYTES_MAX} bytes");
        vec![ArgumentError {
            field: String::new(),
            problem,
        }]
    } else {
        check
            .and_then(|check| check.errors(arguments))
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
                UntrustedText::new(field).shortened(SHOWN),
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
