//! The top-level fields of a definition, unparsed.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The fields of one JSON object in order, without duplicate keys.
///
/// Values are not parsed, so this is safe for any nesting depth.
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    pub(crate) fn read(definition: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(definition)
    }

    /// The raw text of a field; `None` if it is missing or `null`.
    pub(crate) fn raw(&self, key: &str) -> Option<&'a str> {
        let (_, value) = self.0.iter().find(|(name, _)| name == key)?;
        Some(value.get()).filter(|text| *text != "null")
    }

    /// The parsed value of a field; `None` if it is missing or `null`.
    pub(crate) fn value(&self, key: &str) -> Result<Option<Value>, serde_json::Error> {
        self.raw(key).map(serde_json::from_str).transpose()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_ref(), value.get()))
    }
}

/// A key that borrows from the text where it has no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some(Key(name)) = map.next_key::<Key<'de>>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom("duplicate key"));
                    }
                    fields.push((name, map.next_value()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_raw_and_unique() {
        let fields = Fields::read(r#"{"a": [1, 2], "b": null, "c\u0031": "x"}"#).unwrap();
        assert_eq!(fields.raw("a"), Some("[1, 2]"));
        assert_eq!(fields.raw("b"), None);
        assert_eq!(fields.value("c1").unwrap(), Some(Value::from("x")));
        assert!(
            Fields::read(r#"{"a":1,"\u0061":2}"#).is_err(),
            "escapes hide no duplicate"
        );
        assert!(Fields::read("[]").is_err());
    }

    #[test]
    fn r_sec_01_reading_fields_never_recurses() {
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(
            Fields::read(&deep).unwrap().raw("a").map(str::len),
            Some(200_000)
        );
    }
}
