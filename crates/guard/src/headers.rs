//! Arguments that a server wants mirrored into HTTP headers by `x-mcp-header`.

use std::collections::HashSet;

use pegboard_model::{Reason, UntrustedText};
use serde_json::Value;

use crate::{
    schema::Problem,
    schema_walk::{SchemaLocation, walk},
};

const ANNOTATION: &str = "x-mcp-header";
/// The types whose values survive the way through a header. `number` is not among them: the protocol
/// leaves it out because fractions do not compare exactly.
const MIRRORED: &[&str] = &["boolean", "integer", "string"];

/// The protocol wants a tool left out over HTTP when one of its annotations is wrong.
pub(crate) fn check(schema: &Value) -> Result<(), Problem> {
    let mut names = HashSet::new();
    let mut flaw = None;
    walk(schema, &mut |map, location| {
        let Some(annotation) = map.get(ANNOTATION) else {
            return;
        };
        let wrong = match annotation.as_str() {
            None => Some("is not a string"),
            Some(name) if !is_token(name) => Some("is not an HTTP header name"),
            Some(_) if location != SchemaLocation::Property => {
                Some("stands on something else than an argument")
            }
            Some(_) if !map.get("type").is_some_and(is_mirrored) => {
                Some("stands on an argument that is not a string, integer or boolean")
            }
            Some(name) if !names.insert(name.to_ascii_lowercase()) => Some("stands twice"),
            Some(_) => None,
        };
        if let (Some(wrong), None) = (wrong, &flaw) {
            let shown = annotation.as_str().unwrap_or_default();
            let shown = UntrustedText::new(shown).shortened(60);
            flaw = Some((
                Reason::SchemaHeader,
                format!("`{ANNOTATION}: {shown}` {wrong}"),
            ));
        }
    });
    flaw.map_or(Ok(()), Err)
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
    fn verdict(properties: &str, good: bool) {
        let schema = format!(r#"{{"type":"object","properties":{{{properties}}}}}"#);
        let got = check(&serde_json::from_str(&schema).unwrap());
        assert_eq!(got.is_ok(), good, "{properties}: {got:?}");
    }

    #[test]
    fn r_sec_01_header_annotations_are_checked() {
        verdict(r#""a":{"type":"string","x-mcp-header":"Region"}"#, true);
        verdict(
            r#""a":{"type":["string","null"],"x-mcp-header":"Region"}"#,
            true,
        );
        verdict(
            r#""a":{"type":"object","properties":{"b":{"type":"boolean","x-mcp-header":"B"}}}"#,
            true,
        );
        verdict(r#""x-mcp-header":{"type":"number"}"#, true);
        verdict(
            r#""a":{"type":"string","default":{"x-mcp-header":":"}}"#,
            true,
        );
        verdict(r#""a":{"type":"number","x-mcp-header":"Score"}"#, false);
        verdict(r#""a":{"type":"object","x-mcp-header":"Score"}"#, false);
        verdict(r#""a":{"x-mcp-header":"Score"}"#, false);
        verdict(r#""a":{"type":"string","x-mcp-header":""}"#, false);
        verdict(r#""a":{"type":"string","x-mcp-header":"a b"}"#, false);
        verdict(r#""a":{"type":"string","x-mcp-header":"a\r\nb"}"#, false);
        verdict(r#""a":{"type":"string","x-mcp-header":7}"#, false);
        verdict(
            r#""a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}"#,
            false,
        );
        verdict(
            r#""a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}"#,
            false,
        );
    }
}
