//! The texts of a definition that models read, with their places.

use pegboard_model::UntrustedText;
use serde_json::Value;

/// Characters of a path that are shown.
const PLACE_MAX: usize = 120;
/// Levels that are examined; admission allows no more.
const LEVELS: usize = 64;

/// A text of a definition.
pub(super) struct Text<'p, 'a> {
    /// The path of the text, in parts.
    pub(super) path: &'p [&'a str],
    pub(super) text: &'a str,
    /// Whether it is a key, that is, a name.
    pub(super) is_key: bool,
}

impl Text<'_, '_> {
    /// Whether the text is in a schema.
    pub(super) fn in_schema(&self) -> bool {
        matches!(
            self.path.first(),
            Some(&("inputSchema" | "outputSchema" | "arguments"))
        )
    }

    /// Whether it is the name of a parameter.
    pub(super) fn is_parameter(&self) -> bool {
        self.is_key && self.path.last() == Some(&"properties") && self.in_schema()
    }

    pub(super) fn place(&self) -> String {
        let path = self.path.join(".");
        UntrustedText::new(&path).shortened(PLACE_MAX).to_string()
    }
}

/// Visits every string and key of a value.
pub(super) fn visit<'a>(value: &'a Value, see: &mut impl FnMut(Text<'_, 'a>)) {
    walk(value, &mut Vec::new(), see);
}

fn walk<'a>(value: &'a Value, path: &mut Vec<&'a str>, see: &mut impl FnMut(Text<'_, 'a>)) {
    if path.len() > LEVELS {
        return;
    }
    match value {
        Value::String(text) => see(Text {
            path,
            text,
            is_key: false,
        }),
        Value::Array(items) => items.iter().for_each(|item| walk(item, path, see)),
        Value::Object(members) => {
            for (key, value) in members {
                see(Text {
                    path,
                    text: key,
                    is_key: true,
                });
                path.push(key);
                walk(value, path, see);
                path.pop();
            }
        }
        _ => {}
    }
}
