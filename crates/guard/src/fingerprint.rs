//! The fingerprint of a definition: a hash that changes only with the meaning.
//!
//! It ignores white space, the order of keys, how a character is escaped, and inside the two schemas the order of what
//! JSON Schema defines as sets: `required`, `enum`, an array of names in `type`, the lists of `dependentRequired`, and
//! the subschemas of `allOf`, `anyOf` and `oneOf`. Servers that build these from unordered sets emit them in a
//! different order at every start.
//!
//! Everything else counts: texts (also a default that was joined from a set), `default`, `const`, `examples` and other
//! data, positional lists such as `prefixItems`, and everything outside the schemas.

use pegboard_model::Fingerprint;
use serde_json::Value;

/// Keys of a definition that contain a schema.
const SCHEMAS: [&str; 2] = ["inputSchema", "outputSchema"];

/// How the value of a schema keyword is canonicalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Any JSON; order is significant.
    Data,
    /// A schema.
    Schema,
    /// An array of data, or of schemas, whose order is not significant.
    SetOfData,
    SetOfSchemas,
    /// An array of schemas by position, or a single one.
    Positional,
    /// An object of schemas by name.
    NamedSchemas,
    /// An object of sets by name.
    NamedSets,
}

fn kind_of(keyword: &str) -> Kind {
    match keyword {
        "required" | "enum" | "type" => Kind::SetOfData,
        "allOf" | "anyOf" | "oneOf" => Kind::SetOfSchemas,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
            Kind::NamedSchemas
        }
        "dependentRequired" => Kind::NamedSets,
        "items" | "prefixItems" => Kind::Positional,
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contentSchema" => Kind::Schema,
        _ => Kind::Data,
    }
}

/// Hashes the canonical JSON of a definition. `None` if the text is not JSON or exceeds the parser's nesting limit.
pub fn fingerprint(definition: &str) -> Option<Fingerprint> {
    let value: Value = serde_json::from_str(definition).ok()?;
    let mut canonical = Vec::with_capacity(definition.len());
    let kind_at_top = |key: &str| match SCHEMAS.contains(&key) {
        true => Kind::Schema,
        false => Kind::Data,
    };
    match &value {
        Value::Object(_) => write_object(&value, kind_at_top, &mut canonical)?,
        _ => write(&value, Kind::Data, &mut canonical)?,
    }
    Some(Fingerprint(*blake3::hash(&canonical).as_bytes()))
}

/// Recursion is bounded: the parser rejects more than 128 levels.
fn write(value: &Value, kind: Kind, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Object(_) => write_object(value, |key| within(kind, key), out),
        Value::Array(items) => {
            let (item_kind, is_set) = match kind {
                Kind::SetOfData => (Kind::Data, true),
                Kind::SetOfSchemas => (Kind::Schema, true),
                Kind::Positional => (Kind::Schema, false),
                _ => (Kind::Data, false),
            };
            let mut written = Vec::with_capacity(items.len());
            for item in items {
                let mut bytes = Vec::new();
                write(item, item_kind, &mut bytes)?;
                written.push(bytes);
            }
            if is_set {
                written.sort_unstable();
            }
            out.push(b'[');
            out.extend_from_slice(&written.join(&b','));
            out.push(b']');
            Some(())
        }
        scalar => serde_json::to_writer(out, scalar).ok(),
    }
}

/// The kind of a member, given the kind of its object.
fn within(kind: Kind, key: &str) -> Kind {
    match kind {
        Kind::Schema | Kind::Positional => kind_of(key),
        Kind::NamedSchemas => Kind::Schema,
        Kind::NamedSets => Kind::SetOfData,
        Kind::Data | Kind::SetOfData | Kind::SetOfSchemas => Kind::Data,
    }
}

fn write_object(value: &Value, kind_of: impl Fn(&str) -> Kind, out: &mut Vec<u8>) -> Option<()> {
    let mut entries: Vec<_> = value.as_object()?.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.as_str());
    out.push(b'{');
    for (position, (key, item)) in entries.into_iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, key).ok()?;
        out.push(b':');
        write(item, kind_of(key), out)?;
    }
    out.push(b'}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn r_disc_08_key_order_and_white_space_do_not_matter() {
        let one =
            fingerprint(r#"{"name":"a","inputSchema":{"type":"object","required":["x","y"]}}"#);
        let two = fingerprint(
            "{ \"inputSchema\": {\"required\":[\"x\", \"y\"], \"type\":\"object\"},\n\"name\":\"\\u0061\"}",
        );
        assert!(one.is_some());
        assert_eq!(one, two);
    }

    fn of_schema(schema: &str) -> Option<pegboard_model::Fingerprint> {
        fingerprint(&format!(r#"{{"name":"a","inputSchema":{schema}}}"#))
    }

    #[test]
    fn r_sec_07_the_order_of_sets_in_a_schema_does_not_matter() {
        for (one, two) in [
            (r#"{"required":["x","y"]}"#, r#"{"required":["y","x"]}"#),
            (
                r#"{"enum":[1,"a",{"k":1,"l":2}]}"#,
                r#"{"enum":[{"l":2,"k":1},1,"a"]}"#,
            ),
            (
                r#"{"type":["string","null"]}"#,
                r#"{"type":["null","string"]}"#,
            ),
            (
                r#"{"anyOf":[{"type":"string"},{"enum":["a","b"]}]}"#,
                r#"{"anyOf":[{"enum":["b","a"]},{"type":"string"}]}"#,
            ),
            (
                r#"{"properties":{"required":{"enum":["a","b"]}}}"#,
                r#"{"properties":{"required":{"enum":["b","a"]}}}"#,
            ),
            (
                r#"{"dependentRequired":{"x":["a","b"]},"items":{"required":["p","q"]}}"#,
                r#"{"dependentRequired":{"x":["b","a"]},"items":{"required":["q","p"]}}"#,
            ),
        ] {
            assert!(of_schema(one).is_some());
            assert_eq!(of_schema(one), of_schema(two), "{one}");
        }
    }

    #[test]
    fn r_sec_07_a_significant_change_is_never_ignored() {
        for (one, two) in [
            (r#"{"required":["x","y"]}"#, r#"{"required":["x"]}"#),
            (r#"{"required":["x"]}"#, r#"{"required":["x","x"]}"#),
            (r#"{"enum":["a","b"]}"#, r#"{"enum":["a","c"]}"#),
            (r#"{"enum":["a,b"]}"#, r#"{"enum":["a","b"]}"#),
            (r#"{"default":["a","b"]}"#, r#"{"default":["b","a"]}"#),
            (r#"{"default":"a,b"}"#, r#"{"default":"b,a"}"#),
            (
                r#"{"const":{"required":["a","b"]}}"#,
                r#"{"const":{"required":["b","a"]}}"#,
            ),
            (
                r#"{"examples":[{"enum":[1,2]}]}"#,
                r#"{"examples":[{"enum":[2,1]}]}"#,
            ),
            (
                r#"{"enum":[{"required":["a","b"]}]}"#,
                r#"{"enum":[{"required":["b","a"]}]}"#,
            ),
            (
                r#"{"prefixItems":[{"type":"a"},{}]}"#,
                r#"{"prefixItems":[{},{"type":"a"}]}"#,
            ),
            (r#"{"x-own":{"enum":[1,2]}}"#, r#"{"x-own":{"enum":[2,1]}}"#),
            (
                r#"{"properties":{"a":{"description":"x"}}}"#,
                r#"{"properties":{"a":{"description":"y"}}}"#,
            ),
            (r#"{"anyOf":[{"type":"a"}]}"#, r#"{"oneOf":[{"type":"a"}]}"#),
        ] {
            assert_ne!(of_schema(one), of_schema(two), "{one}");
        }
        let outside = |text: &str| fingerprint(&format!(r#"{{"name":"a","annotations":{text}}}"#));
        assert_ne!(outside(r#"{"enum":[1,2]}"#), outside(r#"{"enum":[2,1]}"#));
    }

    #[test]
    fn content_and_array_order_matter() {
        assert_ne!(fingerprint(r#"{"a":[1,2]}"#), fingerprint(r#"{"a":[2,1]}"#));
        assert_ne!(fingerprint(r#"{"a":"1"}"#), fingerprint(r#"{"a":1}"#));
        assert_eq!(fingerprint("{"), None);
        assert_eq!(fingerprint(&"[".repeat(100_000)), None);
    }
}
