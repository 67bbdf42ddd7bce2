//! `x-mcp-header` annotations: arguments that are also sent as HTTP headers.

use std::collections::HashSet;

use pegboard_model::{Reason, UntrustedText};
use serde_json::Value;

use crate::{
    schema::Problem,
    schema_walk::{SchemaLocation, walk},
};

const ANNOTATION: &str = "x-mcp-header";
/// Types whose values can be sent in a header. The protocol excludes `number` because fractions do not compare exactly.
const MIRRORED: &[&str] = &["boolean", "integer", "string"];

/// Checks the annotations of a schema. The protocol requires rejecting a tool over HTTP if one of them is invalid.
pub(crate) fn check(schema: &Value) -> Result<(), Problem> {
    let mut names = HashSet::new();
    let mut problem = None;
    walk(schema, &mut |map, location| {
        let Some(annotation) = map.get(ANNOTATION) else {
            return;
        };
        let wrong = match annotation.as_str() {
            None => Some("is not a string"),
            Some(name) if !is_token(name) => Some("is not an HTTP header name"),
            Some(_) if location != SchemaLocation::Property => Some("is not on an argument"),
            Some(_) if !map.get("type").is_some_and(is_mirrored) => {
                Some("is on an argument that is not a string, integer or boolean")
            }
            Some(name) if !names.insert(name.to_ascii_lowercase()) => Some("is used twice"),
            Some(_) => None,
        };
        if let (Some(wrong), None) = (wrong, &problem) {
            let shown = annotation.as_str().unwrap_or_default();
            let shown = UntrustedText::new(shown).shortened(60);
            problem = Some((
                Reason::SchemaHeader,
                format!("`{ANNOTATION}: {shown}` {wrong}"),
            ));
        }
    });
    problem.map_or(Ok(()), Err)
}

fn is_mirrored(kind: &Value) -> bool {
    let mirrored = |kind: &Value| kind.as_str().is_some_and(|kind| MIRRORED.contains(&kind));
    match kind {
        Value::Array(kinds) => {
            kinds.iter().any(mirrored) && kinds.iter().all(|kind| mirrored(kind) || kind == "null")
        }
        single => mirrored(single),
    }
}

fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_annotations(properties: &str, good: bool) {
        let schema = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
        let got = check(&serde_json::from_str(&schema).unwrap());
        assert_eq!(got.is_ok(), good, "{properties}: {got:?}");
    }

    #[test]
    fn r_sec_01_header_annotations_are_checked() {
        check_annotations(r#""a":{"type":"string","x-mcp-header":"Region"}"#, true);
        check_annotations(
            r#""a":{"type":["string","null"],"x-mcp-header":"Region"}"#,
            true,
        );
        check_annotations(
            r#""a":{"type":"object","properties":{"b":{"type":"boolean","x-mcp-header":"B"}}}"#,
            true,
        );
        check_annotations(r#""x-mcp-header":{"type":"number"}"#, true);
        check_annotations(
            r#""a":{"type":"string","default":{"x-mcp-header":":"}}"#,
            true,
        );
        check_annotations(r#""a":{"type":"number","x-mcp-header":"Score"}"#, false);
        check_annotations(r#""a":{"type":"object","x-mcp-header":"Score"}"#, false);
        check_annotations(r#""a":{"x-mcp-header":"Score"}"#, false);
        check_annotations(r#""a":{"type":"string","x-mcp-header":""}"#, false);
        check_annotations(r#""a":{"type":"string","x-mcp-header":"a b"}"#, false);
        check_annotations(r#""a":{"type":"string","x-mcp-header":"a\r\nb"}"#, false);
        check_annotations(r#""a":{"type":"string","x-mcp-header":7}"#, false);
        check_annotations(
            r#""a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
            false,
        );
        check_annotations(
            r#""a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}"#,
            false,
        );
    }
}
