//! References between schemas: within the document they are checked, out of it they are refused.

use std::borrow::Cow;
use std::collections::HashSet;

use pegboard_model::{Reason, UntrustedText};
use serde_json::Value;

use crate::{schema::Problem, schema_walk::walk};

const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];
const ANCHORS: &[&str] = &["$anchor", "$dynamicAnchor"];
/// Longest piece of a reference that is shown in a message.
const SHOWN: usize = 80;

/// What can be referred to inside one document.
#[derive(Default)]
struct Targets<'a> {
    /// The root, and every subschema that has an identifier of its own: pointers start at these.
    resources: Vec<&'a Value>,
    identifiers: HashSet<&'a str>,
    anchors: HashSet<&'a str>,
}

/// Refuses references to other documents, and references to nothing. Cycles are legal: a reference is
/// looked up, never followed.
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
                Found::Here => Ok(()),
                Found::Nowhere => Err((
                    Reason::SchemaInvalid,
                    format!("`{field}` refers to `{shown}`, which is not in it"),
                )),
                Found::OtherDocument => Err((
                    Reason::SchemaExternalRef,
                    format!(
                        "`{field}` refers to `{shown}`, another document, which is never fetched"
                    ),
                )),
            }
        })
}

enum Found {
    Here,
    Nowhere,
    OtherDocument,
}

impl Targets<'_> {
    fn find(&self, reference: &str) -> Found {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !document.is_empty() && !self.is_identifier(document) {
            return Found::OtherDocument;
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
        if here { Found::Here } else { Found::Nowhere }
    }

    /// Whether a text names a part of this document, in full or by its last segment.
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

/// Fragments are written as parts of a URI; `%25` stands for a per cent sign.
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
    fn verdict(schema: &str, expected: Option<Reason>) {
        let schema: Value = serde_json::from_str(schema).unwrap();
        assert_eq!(
            check("inputSchema", &schema).err().map(|flaw| flaw.0),
            expected,
            "{schema}"
        );
    }

    #[test]
    fn r_sec_01_references_stay_inside_the_document() {
        verdict(
            r##"{"$defs":{"a":{}},"properties":{"x":{"$ref":"#/$defs/a"}}}"##,
            None,
        );
        verdict(r##"{"properties":{"x":{"$ref":"#"}}}"##, None);
        verdict(
            r##"{"$defs":{"a b":{}},"allOf":[{"$ref":"#/$defs/a%20b"}]}"##,
            None,
        );
        verdict(
            r##"{"$defs":{"a/b":{}},"allOf":[{"$ref":"#/$defs/a~1b"}]}"##,
            None,
        );
        verdict(
            r##"{"$defs":{"a":{"$anchor":"here"}},"allOf":[{"$ref":"#here"}]}"##,
            None,
        );
        verdict(
            r##"{"$defs":{"a":{"$id":"#old"}},"allOf":[{"$ref":"#old"}]}"##,
            None,
        );
        verdict(
            r##"{"$id":"https://a.example/root.json","allOf":[{"$ref":"root.json#"}]}"##,
            None,
        );
        verdict(
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
            verdict(
                &format!(r#"{{"items":{{"$ref":"{outside}"}}}}"#),
                Some(Reason::SchemaExternalRef),
            );
        }
        verdict(
            r##"{"allOf":[{"$ref":"#/$defs/none"}]}"##,
            Some(Reason::SchemaInvalid),
        );
        verdict(
            r##"{"allOf":[{"$ref":"#/../.."}]}"##,
            Some(Reason::SchemaInvalid),
        );
        verdict(
            r##"{"allOf":[{"$ref":"#nothing"}]}"##,
            Some(Reason::SchemaInvalid),
        );
        verdict(
            r##"{"$id":"x","allOf":[{"$ref":"#/%zz%"}]}"##,
            Some(Reason::SchemaInvalid),
        );
    }

    #[test]
    fn references_in_data_and_names_are_no_references() {
        verdict(
            r##"{"properties":{"$ref":{"type":"string","default":{"$ref":"http://x"}}}}"##,
            None,
        );
        verdict(
            r##"{"enum":[{"$ref":"http://x"}],"const":{"$ref":"http://x"}}"##,
            None,
        );
    }

    #[test]
    fn r_sec_01_cycles_are_legal_and_end() {
        verdict(r##"{"$ref":"#"}"##, None);
        verdict(
            r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/c"},"c":{"$ref":"#/$defs/a"}},
                "$ref":"#/$defs/a"}"##,
            None,
        );
    }
}
