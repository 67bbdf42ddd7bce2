//! Arguments that a tool's schema requires as headers: both must match.

use axum::http::HeaderMap;
use memchr::memmem;
use pegboard_jsonrpc::code;
use serde_json::Value;

use super::headers::{decode_value, value};
use crate::gateway::Gateway;
use crate::message::Message;
use crate::meta_tools;

const ANNOTATION: &str = "x-mcp-header";

/// Checks the `Mcp-Param-…` headers of a call. Clients cannot know the schema of an unlisted tool, so its headers are
/// not checked.
pub(super) fn check_arguments(
    gateway: &Gateway,
    profile: &str,
    headers: &HeaderMap,
    message: &Message,
) -> Result<(), crate::Response> {
    if message.method() != "tools/call" {
        return Ok(());
    }
    match mismatch(gateway, profile, headers, message) {
        Some(header) => {
            let why = format!("header `Mcp-Param-{header}` does not match the body");
            Err(message.refuse(400, code::HEADER_MISMATCH, &why))
        }
        None => Ok(()),
    }
}

fn mismatch(
    gateway: &Gateway,
    profile: &str,
    headers: &HeaderMap,
    message: &Message,
) -> Option<String> {
    let name = message.subject()?;
    let view = gateway.shared.view(profile)?;
    if !view.profile.lists_servers() || meta_tools::is_meta_tool(name) {
        return None;
    }
    let surface = view.surface(gateway.hub());
    let tool = surface.catalog.find(&view.profile.qualified(name)).ok()?;
    message.set_tool(tool.resolved());
    let definition = tool.definition();
    memmem::find(definition.as_bytes(), ANNOTATION.as_bytes())?;
    if !view.profile.lists(&tool) {
        return None;
    }
    let definition: Value = serde_json::from_str(definition).ok()?;
    let arguments = message.params().arguments;
    let arguments: Value = serde_json::from_str(arguments.map_or("{}", |a| a.get())).ok()?;
    first_mismatch(definition.get("inputSchema")?, Some(&arguments), headers)
}

/// Finds the first annotated property, at any depth of `properties`, whose header does not match its value.
fn first_mismatch(schema: &Value, argument: Option<&Value>, headers: &HeaderMap) -> Option<String> {
    if let Some(header) = schema.get(ANNOTATION).and_then(Value::as_str) {
        return (!header_matches(header, argument, headers)).then(|| header.to_owned());
    }
    let properties = schema.get("properties")?.as_object()?;
    properties.iter().find_map(|(name, property)| {
        let argument = argument.and_then(|argument| argument.get(name));
        first_mismatch(property, argument, headers)
    })
}

fn header_matches(header: &str, argument: Option<&Value>, headers: &HeaderMap) -> bool {
    let name = format!("mcp-param-{}", header.to_ascii_lowercase());
    let said = headers.contains_key(&name);
    let given = value(headers, &name).and_then(decode_value);
    match (argument, given) {
        (None | Some(Value::Null), _) => !said,
        (Some(_), None) => false,
        (Some(Value::String(text)), Some(given)) => *text == given,
        (Some(Value::Bool(truth)), Some(given)) => truth.to_string() == given,
        (Some(Value::Number(number)), Some(given)) => {
            number.to_string() == given || number.as_f64() == given.parse().ok()
        }
        // Arrays and objects violate the schema; the argument check reports that with a better message.
        (Some(Value::Array(_) | Value::Object(_)), Some(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};
    use serde_json::json;

    fn check(arguments: Value, headers: &[(&str, &str)], wrong: Option<&str>) {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        }});
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let found = first_mismatch(&schema, Some(&arguments), &map);
        assert_eq!(found.as_deref(), wrong, "{arguments} {headers:?}");
    }

    #[test]
    fn r_gate_01_annotated_arguments_and_their_headers_must_agree() {
        let hello = json!({"region": "Hello"});
        check(hello.clone(), &[("Mcp-Param-Region", "Hello")], None);
        check(
            hello.clone(),
            &[("mcp-param-region", "=?base64?SGVsbG8=?=")],
            None,
        );
        check(
            hello.clone(),
            &[("Mcp-Param-Region", "=?base64?SGVsbG8?=")],
            Some("Region"),
        );
        check(
            hello.clone(),
            &[("Mcp-Param-Region", "hello")],
            Some("Region"),
        );
        check(hello, &[], Some("Region"));
        check(json!({}), &[], None);
        check(json!({"region": null}), &[], None);
        check(json!({}), &[("Mcp-Param-Region", "x")], Some("Region"));
        check(json!({"deep": {"n": 42}}), &[("Mcp-Param-N", "42.0")], None);
        check(
            json!({"deep": {"n": 42}}),
            &[("Mcp-Param-N", "43")],
            Some("N"),
        );
        check(json!({"deep": {"n": 42}}), &[], Some("N"));
    }
}
