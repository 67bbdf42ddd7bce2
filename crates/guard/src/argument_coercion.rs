//! Lenient parsing of arguments in the forms that models actually send.

use pegboard_model::{Reason, ToolError};
use serde_json::value::RawValue;

use crate::arguments::ARGUMENTS_BYTES_MAX;

/// Converts arguments to an object: an object is kept verbatim, `null` and an empty string become `{}`, and a string
/// that contains a JSON object becomes that object.
///
/// # Errors
///
/// Returns [`Reason::ArgsInvalid`] for anything else.
pub fn coerce_arguments(raw: &RawValue) -> Result<Box<RawValue>, ToolError> {
    let text = raw.get();
    if text.len() > ARGUMENTS_BYTES_MAX {
        let message =
            format!("the arguments are larger than the allowed {ARGUMENTS_BYTES_MAX} bytes");
        return Err(invalid(message));
    }
    match text.as_bytes().first() {
        Some(b'{') => Ok(raw.to_owned()),
        Some(b'n') => empty(),
        Some(b'"') => from_text(text),
        other => {
            let kind = match other {
                Some(b'[') => "an array",
                Some(b't' | b'f') => "a boolean",
                _ => "a number",
            };
            Err(invalid(format!(
                "the arguments must be a JSON object such as `{{\"name\": \"value\"}}`, not {kind}"
            )))
        }
    }
}

fn from_text(quoted: &str) -> Result<Box<RawValue>, ToolError> {
    let content: String = serde_json::from_str(quoted)
        .map_err(|error| invalid(format!("the arguments are an invalid string: {error}")))?;
    if content.trim().is_empty() {
        return empty();
    }
    match RawValue::from_string(content) {
        Ok(inner) if inner.get().starts_with('{') => Ok(inner),
        Ok(inner) if inner.get() == "null" => empty(),
        Ok(_) => Err(invalid(
            "the arguments are a string that contains JSON other than an object; pass the object itself"
                .to_owned(),
        )),
        Err(error) => Err(invalid(format!(
            "the arguments are a string that is not JSON ({error}); pass a JSON object, not a string"
        ))),
    }
}

fn empty() -> Result<Box<RawValue>, ToolError> {
    RawValue::from_string("{}".to_owned()).map_err(|error| invalid(error.to_string()))
}

fn invalid(message: String) -> ToolError {
    let remedy = "Pass `arguments` as a JSON object whose members are the tool's arguments.";
    ToolError::new(Reason::ArgsInvalid, message)
        .at_field("")
        .with_remedy(remedy)
}
