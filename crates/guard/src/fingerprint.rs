//! A definition as one hash that key order and white space do not change.

use pegboard_model::Fingerprint;
use serde_json::Value;

/// The hash of a definition's canonical JSON: keys sorted, no white space. `None` when the text is not
/// JSON, or is nested deeper than the parser follows.
pub fn fingerprint(definition: &str) -> Option<Fingerprint> {
    let value: Value = serde_json::from_str(definition).ok()?;
    let mut canonical = Vec::with_capacity(definition.len());
    write_canonical(&value, &mut canonical)?;
    Some(Fingerprint(*blake3::hash(&canonical).as_bytes()))
}

/// Recursion is bounded: the parser refuses more than 128 levels.
fn write_canonical(value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push(b'{');
            for (position, (key, item)) in entries.into_iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                serde_json::to_writer(&mut *out, key).ok()?;
                out.push(b':');
                write_canonical(item, out)?;
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write_canonical(item, out)?;
            }
            out.push(b']');
        }
        scalar => serde_json::to_writer(out, scalar).ok()?,
    }
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

    #[test]
    fn content_and_array_order_matter() {
        assert_ne!(fingerprint(r#"{"a":[1,2]}"#), fingerprint(r#"{"a":[2,1]}"#));
        assert_ne!(fingerprint(r#"{"a":"1"}"#), fingerprint(r#"{"a":1}"#));
        assert_eq!(fingerprint("{"), None);
        assert_eq!(fingerprint(&"[".repeat(100_000)), None);
    }
}
