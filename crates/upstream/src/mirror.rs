//! Arguments that a modern HTTP server wants repeated as headers (`x-mcp-header`).

use memchr::memmem;
use pegboard_model::{Reason, ToolError, UntrustedText};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::header_text::header_text;

const ANNOTATION: &str = "x-mcp-header";
/// Maximum nesting of `properties`. Deeper schemas are not admitted.
const DEPTH: usize = 32;
/// Characters shown of an invalid annotation.
const SHOWN_CHARS: usize = 60;

/// Returns the headers for a call of a tool with this schema: for each annotated argument that is present, the name
/// after `Mcp-Param-` and the encoded value.
///
/// # Errors
/// Fails if an annotation is not a header name, or an annotated argument is an array or an object.
pub fn mirrored_headers(
    input_schema: &RawValue,
    arguments: &RawValue,
) -> Result<Vec<(String, String)>, ToolError> {
    if memmem::find(input_schema.get().as_bytes(), ANNOTATION.as_bytes()).is_none() {
        return Ok(Vec::new());
    }
    let unread = |what| ToolError::new(Reason::ArgsInvalid, format!("{what} cannot be read"));
    let schema: Value =
        serde_json::from_str(input_schema.get()).map_err(|_| unread("the tool's schema"))?;
    let arguments: Value =
        serde_json::from_str(arguments.get()).map_err(|_| unread("the arguments"))?;
    let mut headers = Vec::new();
    collect(&schema, &arguments, DEPTH, &mut headers)?;
    Ok(headers)
}

/// Only arguments reached through `properties` alone are mirrored.
fn collect(
    schema: &Value,
    arguments: &Value,
    depth: usize,
    headers: &mut Vec<(String, String)>,
) -> Result<(), ToolError> {
    let (Some(depth), Some(properties), Some(arguments)) = (
        depth.checked_sub(1),
        schema.get("properties").and_then(Value::as_object),
        arguments.as_object(),
    ) else {
        return Ok(());
    };
    for (name, property) in properties {
        let Some(value) = present(arguments, name) else {
            continue;
        };
        if let Some(annotation) = property.get(ANNOTATION) {
            headers.push((header_name(annotation)?, header_value(name, value)?));
        }
        collect(property, value, depth, headers)?;
    }
    Ok(())
}

fn present<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    arguments.get(name).filter(|value| !value.is_null())
}

fn header_name(annotation: &Value) -> Result<String, ToolError> {
    let is_token = |name: &&str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let name = annotation.as_str().filter(is_token).ok_or_else(|| {
        let shown = annotation.as_str().unwrap_or_default();
        let shown = UntrustedText::new(shown).shortened(SHOWN_CHARS);
        let what = format!("`{ANNOTATION}: {shown}` is not an HTTP header name");
        ToolError::new(Reason::SchemaHeader, what)
    })?;
    Ok(name.to_owned())
}

fn header_value(name: &str, value: &Value) -> Result<String, ToolError> {
    match value {
        Value::String(text) => Ok(header_text(text)),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        _ => {
            let shown = UntrustedText::new(name).shortened(SHOWN_CHARS);
            let what = format!(
                "the argument `{shown}` is sent as a header and must be a string, a number or a boolean"
            );
            Err(ToolError::new(Reason::ArgsInvalid, what).at_field(name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[track_caller]
    fn check(properties: &str, arguments: &str, expected: &[(&str, &str)]) {
        let schema = raw(&format!(r#"{{"properties":{{{properties}}}}}"#));
        let found = mirrored_headers(&schema, &raw(arguments)).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(found, expected, "{arguments}");
    }

    #[test]
    fn r_gate_03_annotated_arguments_are_mirrored_and_others_are_not() {
        let region = r#""region":{"type":"string","x-mcp-header":"Region"},"other":{}"#;
        check(
            region,
            r#"{"region":"eu","other":"x"}"#,
            &[("Region", "eu")],
        );
        check(region, r#"{"region":null}"#, &[]);
        check(region, "{}", &[]);
        check(region, "[]", &[]);
        check(r#""region":{}"#, r#"{"region":"eu"}"#, &[]);
        check(
            r#""a":{"x-mcp-header":"N"},"b":{"x-mcp-header":"B"}"#,
            r#"{"a":-42,"b":false}"#,
            &[("N", "-42"), ("B", "false")],
        );
        check(
            r#""deep":{"properties":{"er":{"x-mcp-header":"Deep"}}}"#,
            r#"{"deep":{"er":" padded "}}"#,
            &[("Deep", "=?base64?IHBhZGRlZCA=?=")],
        );
    }

    #[test]
    fn r_gate_03_values_that_no_header_can_carry_are_errors() {
        let of = |annotation: &str, value: &str| {
            let schema = raw(&format!(
                r#"{{"properties":{{"a":{{"x-mcp-header":{annotation}}}}}}}"#
            ));
            mirrored_headers(&schema, &raw(&format!(r#"{{"a":{value}}}"#)))
                .unwrap_err()
                .reason
        };
        assert_eq!(of("\"A\"", "{}"), Reason::ArgsInvalid);
        for annotation in ["\"\"", "\"a b\"", "\"a\\r\\nb\"", "7"] {
            assert_eq!(of(annotation, "1"), Reason::SchemaHeader, "{annotation}");
        }
    }
}
