//! References between schemas: local ones must resolve, external ones are rejected.

use std::borrow::Cow;
use std::collections::HashSet;

use pegboard_model::{Reason, UntrustedText};
use serde_json::Value;

use crate::{schema::Problem, schema_walk::walk};

const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];
const ANCHORS: &[&str] = &["$anchor", "$dynamicAnchor"];
/// Maximum number of characters of a reference in a message.
const SHOWN: usize = 80;

/// The possible targets of references in one document.
#[derive(Default)]
struct Targets<'a> {
    /// The root and every subschema with an `$id`; JSON pointers are relative to these.
    resources: Vec<&'a Value>,
    identifiers: HashSet<&'a str>,
    anchors: HashSet<&'a str>,
}

/// Rejects external and unresolved references. Cycles are allowed: a reference is looked up but not followed.
pub(crate) fn check(field: &str, root: &Value) -> Result<(), Problem> {
    let mut written: Vec<&str> = Vec::new();
    let mut targets = Targets {
        resources: vec![root],
        ..Targets::default()
    };
    walk(root, &mut |map, _| {
        written.extend(REFERENCES.iter().filter_map(|key| map.get(*key)?.as_str()));
        targets
            .anchors
            .extend(ANCHORS.iter().filter_map(|key| map.get(*key)?.as_str()));
        if let Some(identifier) = map.get("$id").and_then(Value::as_str) {
            match identifier.strip_prefix('#') {
                Some(anchor) => targets.anchors.insert(anchor),
                None => targets.identifiers.insert(identifier.trim_end_matches('#')),
            };
        }
    });
    if written.is_empty() {
        return Ok(());
    }
    if !targets.identifiers.is_empty() {
        collect_resources(root, &mut targets.resources);
    }
    let mut checked = HashSet::new();
    written
        .into_iter()
        .filter(|reference| checked.insert(*reference))
        .try_for_each(|reference| {
            let shown = UntrustedText::new(reference).shortened(SHOWN);
            match targets.find(reference) {
                Lookup::Local => Ok(()),
                Lookup::Unresolved => Err((
                    Reason::SchemaInvalid,
                    format!("`{field}` has an unresolved reference `{shown}`"),
                )),
                Lookup::OtherDocument => Err((
                    Reason::SchemaExternalRef,
                    format!(
                        "`{field}` refers to the external document `{shown}`; Pegboard never fetches schemas"
                    ),
                )),
            }
        })
}

enum Lookup {
    Local,
    Unresolved,
    OtherDocument,
}

impl Targets<'_> {
    fn find(&self, reference: &str) -> Lookup {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !document.is_empty() && !self.is_identifier(document) {
            return Lookup::OtherDocument;
        }
        let fragment = percent_decoded(fragment);
        let here = if fragment.is_empty() {
            true
        } else if fragment.starts_with('/') {
            self.resources
                .iter()
                .any(|resource| resource.pointer(&fragment).is_some())
        } else {
            self.anchors.contains(fragment.as_ref())
        };
        if here {
            Lookup::Local
        } else {
            Lookup::Unresolved
        }
    }

    /// Whether a text is the identifier of a subschema, in full or by its last segment.
    fn is_identifier(&self, document: &str) -> bool {
        self.identifiers.contains(document)
            || self.identifiers.iter().any(|identifier| {
                let head = identifier.strip_suffix(document);
                !document.contains(':') && head.is_some_and(|head| head.ends_with('/'))
            })
    }
}

fn collect_resources<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => {
            if map.contains_key("$id") {
                found.push(value);
            }
            map.values()
                .for_each(|inner| collect_resources(inner, found));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|inner| collect_resources(inner, found)),
        _ => {}
    }
}

/// Decodes percent-escapes of a URI fragment.
pub(crate) fn percent_decoded(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return Cow::Borrowed(fragment);
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_schema(schema: &str, expected: Option<Reason>) {
        let schema: Value = serde_json::from_str(schema).unwrap();
        assert_eq!(
            check("inputSchema", &schema).err().map(|problem| problem.0),
            expected,
            "{schema}"
        );
    }

    #[test]
    fn r_sec_01_references_stay_inside_the_document() {
        check_schema(
            r##"{"$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}}}"##,
            None,
        );
        check_schema(r##"{"properties":{"x":{"$ref":"#"}}}"##, None);
        check_schema(
            r##"{"$defs":{"a b":{}},"allOf":[{"$ref":"#/$defs/a%20b"}]}"##,
            None,
        );
        check_schema(
            r##"{"$defs":{"a/b":{}},"allOf":[{"$ref":"#/$defs/a~1b"}]}"##,
            None,
        );
        check_schema(
            r##"{"$defs":{"a":{"$anchor":"here"}},"allOf":[{"$ref":"#here"}]}"##,
            None,
        );
        check_schema(
            r##"{"$defs":{"a":{"$id":"#old"}},"allOf":[{"$ref":"#old"}]}"##,
            None,
        );
        check_schema(
            r##"{"$id":"https://a.example/root.json","allOf":[{"$ref":"root.json#"}]}"##,
            None,
        );
        check_schema(
            r##"{"$id":"https://a.example/r","items":{"$ref":"https://a.example/r"}}"##,
            None,
        );
        for outside in [
            "http://a.example/x",
            "file:///etc/passwd",
            "other.json",
            "//host/x",
            "ftp://h",
        ] {
            check_schema(
                &format!(r#"{{"items":{{"$ref":"{outside}"}}}}"#),
                Some(Reason::SchemaExternalRef),
            );
        }
        check_schema(
            r##"{"allOf":[{"$ref":"#/$defs/none"}]}"##,
            Some(Reason::SchemaInvalid),
        );
        check_schema(
            r##"{"allOf":[{"$ref":"#/../.."}]}"##,
            Some(Reason::SchemaInvalid),
        );
        check_schema(
            r##"{"allOf":[{"$ref":"#nothing"}]}"##,
            Some(Reason::SchemaInvalid),
        );
        check_schema(
            r##"{"$id":"x","allOf":[{"$ref":"#/%zz%"}]}"##,
            Some(Reason::SchemaInvalid),
        );
    }

    #[test]
    fn references_in_data_and_names_are_ignored() {
        check_schema(
            r##"{"properties":{"$ref":{"type":"string","default":{"$ref":"http://x"}}}}"##,
            None,
        );
        check_schema(
            r##"{"enum":[{"$ref":"http://x"}],"const":{"$ref":"http://x"}}"##,
            None,
        );
    }

    #[test]
    fn r_sec_01_cycles_are_allowed_and_terminate() {
        check_schema(r##"{"$ref":"#"}"##, None);
        check_schema(
            r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/c"},"c":{"$ref":"#/$defs/a"}},
                "$ref":"#/$defs/a"}"##,
            None,
        );
    }
}
