//! Arguments as a value, in which every key stands once.
//!
//! Readers of JSON differ in which of two equal keys counts. A person who approves, the check against the schema and
//! the server would each look at another value, so such arguments are refused before any of them does.

use std::fmt;

use pegboard_model::{Reason, ToolError, ToolResult, UntrustedText};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Characters of a repeated key in a message.
const SHOWN: usize = 80;

/// Reads arguments; an object that has a key twice, at any depth, is an error that names the key.
pub fn parse_arguments(json: &str) -> ToolResult<Value> {
    match serde_json::from_str::<Unique>(json) {
        Ok(Unique(value)) => Ok(value),
        Err(error) if error.is_data() => Err(ToolError::new(
            Reason::ArgsInvalid,
            format!("the arguments are ambiguous: {error}"),
        )
        .with_remedy("Give every key once.")),
        Err(error) => Err(ToolError::new(
            Reason::ArgsInvalid,
            format!("the arguments are not JSON: {error}"),
        )),
    }
}

/// A value in which no object has a key twice.
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
        f.write_str("JSON in which every key stands once")
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
                return Err(A::Error::custom(format_args!(
                    "the key `{key}` is there twice"
                )));
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
    fn refused(json: &str, words: &str) {
        let error = parse_arguments(json).unwrap_err();
        assert_eq!(error.reason, Reason::ArgsInvalid, "{json}");
        assert!(error.message.contains(words), "{json}: {}", error.message);
    }

    #[test]
    fn r_sec_10_a_key_that_is_there_twice_is_refused_by_name() {
        refused(r#"{"path":"a","path":"b"}"#, "`path`");
        refused(r#"{"a":[{"b":{"c":1,"\u0063":2}}]}"#, "`c`");
        refused(r#"{"\u001b":1,"\u001b":2}"#, "twice");
        refused("{broken", "not JSON");
    }

    #[test]
    fn r_sec_10_everything_else_is_read_as_before() {
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
        fn r_sec_10_any_text_gets_an_answer(json in "[{}\\[\\]\",:a1 ]{0,40}") {
            let ours = parse_arguments(&json);
            let theirs: Result<Value, _> = serde_json::from_str(&json);
            if let Ok(ours) = ours {
                prop_assert_eq!(ours, theirs.unwrap());
            }
        }
    }
}
