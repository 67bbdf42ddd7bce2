//! Detection of duplicate keys at any depth.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Whether any object in a JSON text has a duplicate key. Parsers differ in which value they use, so one fingerprint
/// could cover two different tools. The caller must have checked the nesting depth.
pub fn has_duplicate_key(json: &str) -> bool {
    serde_json::from_str::<Unique>(json).is_err_and(|error| error.is_data())
}

/// Any JSON without duplicate keys.
struct Unique;

/// A key that borrows from the text where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without duplicate keys")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Unique, A::Error> {
        while items.next_element::<Unique>()?.is_some() {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Unique, A::Error> {
        let mut seen = HashSet::new();
        while let Some((Key(key), Unique)) = entries.next_entry::<Key<'de>, Unique>()? {
            if !seen.insert(key) {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(Unique)
    }
}

#[cfg(test)]
mod tests {
    use super::has_duplicate_key;

    #[test]
    fn a_duplicate_key_is_found_at_any_depth() {
        for (json, expected) in [
            (r#"{"a":1,"a":2}"#, true),
            (r#"{"a":[{"b":{"c":1,"\u0063":2}}]}"#, true),
            (r#"[{"a":1},{"a":2}]"#, false),
            (
                r#"{"a":{"a":{"a":null}},"A":-1.5e3,"b":[true,"x",18446744073709551615]}"#,
                false,
            ),
            (r#"{"n":123456789012345678901234567890,"m":-1}"#, false),
            ("{broken", false),
        ] {
            assert_eq!(has_duplicate_key(json), expected, "{json}");
        }
    }
}
