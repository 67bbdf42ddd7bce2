//! Changing single members of a JSON object without touching the others.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of a JSON object, in order, each as it was written.
pub struct Members<'a>(pub Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Members<'a> {
    /// Reads an object; `None` when it is none.
    pub fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Replaces a member's value, given as JSON text, or adds it at the end.
    pub fn set(&mut self, key: &'static str, value: impl Into<Cow<'a, str>>) {
        let value = value.into();
        match self.0.iter_mut().find(|(held, _)| held == key) {
            Some((_, held)) => *held = value,
            None => self.0.push((key.into(), value)),
        }
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(held, _)| held != key);
    }

    /// A member's value as JSON text.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().find(|(held, _)| held == key);
        found.map(|(_, value)| value.as_ref())
    }

    /// The members without the braces.
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

/// A text as a JSON string.
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

/// A key that is borrowed where it holds no escapes.
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
