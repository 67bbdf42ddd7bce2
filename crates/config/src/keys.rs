//! Declarative tables of config keys.
//!
//! Each table of a config file (`[settings]`, a server, `[agent]`, …) is one list of [`Key`]s. Parsing, suggestions for
//! unknown keys, masking, the JSON Schema and `docs/configuration-reference.md` are derived from it.

use pegboard_model::{
    AskDestructive, AskVia, ClientApproval, Policy, RefreshOnStart, ResultScan, ReviewMode, Share,
    StaleRefresh,
};
use serde_json::{Map, Value, json};

use crate::sensitive::Visibility;

/// One key of a table. `R` says how its value is read.
pub(crate) struct Key<R> {
    pub(crate) name: &'static str,
    pub(crate) value_type: ValueType,
    /// Description in Markdown; links are relative to `docs/`.
    pub(crate) doc: &'static str,
    /// The default in Markdown; empty if there is none. Settings have theirs in `Settings::default`.
    pub(crate) default: &'static str,
    pub(crate) visibility: Visibility,
    /// Whether the key exists only for the files of other clients.
    pub(crate) is_client_key: bool,
    /// Whether the HTTP API may change the key.
    pub(crate) is_editable: bool,
    pub(crate) read: R,
}

impl<R> Key<R> {
    pub(crate) const fn new(
        name: &'static str,
        value_type: ValueType,
        doc: &'static str,
        read: R,
    ) -> Self {
        Self {
            name,
            value_type,
            doc,
            default: "",
            visibility: Visibility::Open,
            is_client_key: false,
            is_editable: false,
            read,
        }
    }

    pub(crate) fn written_default(&self) -> String {
        self.default.to_owned()
    }
}

/// Defines a list of keys: a description, a name, a type, how the value is read, and fields other than the default.
macro_rules! keys {
    (
        $(#[$meta:meta])*
        const $keys:ident: $read_type:ty;
        $($(#[doc = $doc:literal])+ $name:literal: $type:expr, $read:expr $(, { $($field:ident: $value:expr),+ })?;)+
    ) => {
        $(#[$meta])*
        pub(crate) const $keys: &[$crate::keys::Key<$read_type>] = &[$({
            const READ: $read_type = $read;
            $crate::keys::Key {
                $($($field: $value,)+)?
                ..$crate::keys::Key::new($name, $type, concat!($($doc),+), READ)
            }
        }),+];
    };
}
pub(crate) use keys;

/// Finds a key by name.
pub(crate) fn find<R>(keys: &'static [Key<R>], name: &str) -> Option<&'static Key<R>> {
    keys.iter().find(|key| key.name == name)
}

/// The type of a key's value.
#[derive(Clone, Copy)]
pub(crate) enum ValueType {
    Boolean,
    Text,
    TextList,
    Duration,
    /// Text with `${…}`.
    Template,
    TemplateList,
    TemplateTable,
    /// An integer from 1.
    Count {
        max: usize,
    },
    OneOf(fn() -> Vec<&'static str>),
    /// Policies by tool name or pattern.
    PolicyTable,
    Custom(fn() -> Value),
}

impl ValueType {
    pub(crate) fn schema(self) -> Value {
        let reference = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
        match self {
            Self::Boolean => json!({ "type": "boolean" }),
            Self::Text => json!({ "type": "string" }),
            Self::TextList => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Duration => reference("duration"),
            Self::Template => reference("value"),
            Self::TemplateList => json!({ "type": "array", "items": reference("value") }),
            Self::TemplateTable => reference("values"),
            Self::Count { max } => json!({ "type": "integer", "minimum": 1, "maximum": max }),
            Self::OneOf(words) => json!({ "enum": words() }),
            Self::PolicyTable => {
                json!({ "type": "object", "additionalProperties": reference("policy") })
            }
            Self::Custom(schema) => schema(),
        }
    }
}

/// Returns the JSON Schema of a table. `default` returns the default value of a key in Markdown, or an empty string.
pub(crate) fn table_schema<R>(keys: &[Key<R>], default: impl Fn(&Key<R>) -> String) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut schema = key.value_type.schema();
            let mut description = without_links(key.doc);
            let default = without_links(&default(key));
            if !default.is_empty() {
                description.push_str(&format!(" Default: {default}."));
            }
            if let Some(object) = schema.as_object_mut() {
                object.insert("description".to_owned(), description.into());
            }
            (key.name.to_owned(), schema)
        })
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Replaces Markdown links with their text.
fn without_links(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut rest = markdown.trim();
    while let Some((before, after)) = rest.split_once("](") {
        let (start, label) = before.rsplit_once('[').unwrap_or((before, ""));
        text.push_str(start);
        text.push_str(label);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text
}

/// An enum that config files write as one of a few words.
pub(crate) trait Word: Copy + 'static {
    const ALL: &'static [Self];
    fn word(self) -> &'static str;
}

/// Returns the words of an enum.
pub(crate) fn words<T: Word>() -> Vec<&'static str> {
    T::ALL.iter().map(|value| value.word()).collect()
}

/// Implements [`Word`] for enums, with the given words or with those of `as_str`.
macro_rules! impl_words {
    ($($type:ident: $($variant:ident = $word:literal),+;)+) => {$(
        impl $crate::keys::Word for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    )+};
    ($($type:ident: $($variant:ident),+;)+) => {$(
        impl $crate::keys::Word for $type {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            fn word(self) -> &'static str {
                self.as_str()
            }
        }
    )+};
}
pub(crate) use impl_words;

impl_words! {
    AskDestructive: Never, WhenPossible, Always;
    AskVia: Client, Inbox, Both;
    ClientApproval: Call, Session;
    Policy: Allow, Ask, Deny, Disable;
    RefreshOnStart: Unknown, Stale, All;
    ResultScan: Off, Mark, Neutralise;
    ReviewMode: Off, Default, Strict;
    Share: Auto, User, Project, Session;
    StaleRefresh: Background, Always;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_replaced_with_their_text() {
        for (markdown, text) in [
            ("plain", "plain"),
            (" see [a](x.md#y), [`b`](z) end", "see a, `b` end"),
            ("`[1, 2](", "`1, 2"),
        ] {
            assert_eq!(without_links(markdown), text);
        }
    }
}
