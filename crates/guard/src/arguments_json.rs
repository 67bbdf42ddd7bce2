//! Parsing of arguments without duplicate keys.
//!
//! JSON parsers differ in which value of a duplicate key they use. The person who approves a call, the schema check and
//! the server could each see a different value, so such arguments are rejected first.

use std::fmt;

use pegboard_model::{Reason, ToolError, ToolResult, UntrustedText};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Maximum number of characters of a duplicate key in a message.
const SHOWN: usize = 80;

/// Parses arguments.
///
/// # Errors
///
/// Returns [`Reason::ArgsInvalid`] if the text is not JSON, or if an object at any depth has a duplicate key.
pub fn parse_arguments(json: &str) -> ToolResult<Value> {
    match serde_json::from_str::<Unique>(json) {
        Ok(Unique(value)) => Ok(value),
        Err(error) if error.is_data() => Err(ToolError::new(
            Reason::ArgsInvalid,
            format!("the arguments are ambiguous: {error}"),
        )
        .with_remedy("Write every key only once.")),
        Err(error) => Err(ToolError::new(
            Reason::ArgsInvalid,
            format!("the arguments are not JSON: {error}"),
        )),
    }
}

/// A value without duplicate keys.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without duplicate keys")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let key = UntrustedText::new(&key).shortened(SHOWN).to_string();
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let Unique(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn rejected(json: &str, part: &str) {
        let error = parse_arguments(json).unwrap_err();
        assert_eq!(error.reason, Reason::ArgsInvalid, "{json}");
        assert!(error.message.contains(part), "{json}: {}", error.message);
    }

    #[test]
    fn r_sec_10_a_duplicate_key_is_rejected_by_name() {
        rejected(r#"{"path":"a","path":"b"}"#, "`path`");
        rejected(r#"{"a":[{"b":{"c":1,"\u0063":2}}]}"#, "`c`");
        rejected(r#"{"\u001b":1,"\u001b":2}"#, "duplicate");
        rejected("{broken", "not JSON");
    }

    #[test]
    fn r_sec_10_everything_else_is_parsed_like_serde_json() {
        for json in [
            r#"{"a":{"a":{"a":null}},"A":-1.5e3,"b":[true,"x",18446744073709551615]}"#,
            r#"[{"a":1},{"a":2}]"#,
            r#"{"n":123456789012345678901234567890,"m":-1,"s":"\u00e9\n"}"#,
            "7",
        ] {
            let expected: Value = serde_json::from_str(json).unwrap();
            assert_eq!(parse_arguments(json).unwrap(), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn r_sec_10_any_text_gets_a_result(json in "[{}\\[\\]\",:a1 ]{0,40}") {
            let ours = parse_arguments(&json);
            let theirs: Result<Value, _> = serde_json::from_str(&json);
            if let Ok(ours) = ours {
                prop_assert_eq!(ours, theirs.unwrap());
            }
        }
    }
}
