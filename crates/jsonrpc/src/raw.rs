//! Reading members of raw JSON.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::surrogates::replace_lone;

/// Distinguishes `null` from an absent key. For `deserialize_with`, together with `default`.
///
/// # Errors
/// Fails if the deserializer does.
pub fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Returns the elements of an array, or `None` if there are more than `limit`, so that a few bytes of JSON do not become
/// many of memory.
///
/// # Errors
/// Fails if the value is not an array.
pub fn capped_array<'de, D: Deserializer<'de>>(
    deserializer: D,
    limit: usize,
) -> Result<Option<Vec<&'de RawValue>>, D::Error> {
    struct Capped(usize);
    impl<'de> Visitor<'de> for Capped {
        type Value = Option<Vec<&'de RawValue>>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while elements.len() < self.0 {
                match seq.next_element()? {
                    Some(element) => elements.push(element),
                    None => return Ok(Some(elements)),
                }
            }
            let mut more = false;
            while seq.next_element::<IgnoredAny>()?.is_some() {
                more = true;
            }
            Ok((!more).then_some(elements))
        }
    }
    deserializer.deserialize_seq(Capped(limit))
}

/// Returns the text of a JSON string, or `None` for any other value.
pub fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    if let Ok(text) = serde_json::from_str::<Text<'_>>(raw.get()) {
        return Some(text.0);
    }
    // A text that was cut inside a character is still a text.
    let repaired = replace_lone(raw.get());
    serde_json::from_str::<String>(&repaired)
        .ok()
        .map(Cow::Owned)
}
