//! Edits single members of a JSON object and leaves the others byte for byte.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a JSON object, in order; values are the original text.
pub struct Members<'a>(pub Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Members<'a> {
    /// Parses an object. Returns `None` if the text is not a JSON object.
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Replaces the value of a member, given as JSON text, or appends the member.
    pub fn set(&mut self, key: &'static str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.0.iter_mut().find(|(held, _)| held == key) {
            Some((_, held)) => *held = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// Removes a member.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(held, _)| held != key);
    }

    /// Returns a member's value as JSON text.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(held, _)| held == key);
        found.map(|(_, value)| value.as_ref())
    }

    /// Returns the members without the braces.
    pub fn inner(&self) -> String {
        let mut out = String::new();
        for (key, value) in &self.0 {
            if !out.is_empty() {
                out.push(',');
            }
            out.push_str(&quoted(key));
            out.push(':');
            out.push_str(value);
        }
        out
    }
}

impl fmt::Display for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.inner())
    }
}

/// Formats a text as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned())
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some(key) = map.next_key::<Key<'de>>()? {
                    let value: &RawValue = map.next_value()?;
                    members.push((key.0, Cow::Borrowed(value.get())));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// A key, borrowed if it contains no escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_member_changes() {
        let text = r#"{ "b" : 1.50, "na\u006de":"x","z":{"name": [1,  2]} }"#;
        let mut members = Members::of(text).unwrap();
        members.set("name", "\"server__x\"");
        members.set("added", "true");
        members.remove("b");
        assert_eq!(
            members.to_string(),
            r#"{"name":"server__x","z":{"name": [1,  2]},"added":true}"#
        );
        assert_eq!(members.get("z"), Some(r#"{"name": [1,  2]}"#));
        assert!(Members::of("[1]").is_none());
    }
}
