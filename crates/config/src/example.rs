//! Examples in error messages, in the format of the file that they are for.

use serde_json::Value;

use crate::text::Format;

impl Format {
    /// Formats a JSON value as this format would write it on one line. Text that is not JSON is returned unchanged.
    pub(crate) fn written(self, json: &str) -> String {
        match serde_json::from_str(json) {
            Ok(value) => self.inline(&value),
            Err(_) => json.to_owned(),
        }
    }

    /// Formats a key with a value. The value is given as JSON.
    pub(crate) fn example(self, key: &str, json: &str) -> String {
        self.pair(key, &self.written(json))
    }

    fn pair(self, key: &str, value: &str) -> String {
        let is_bare = !key.is_empty()
            && key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
        match self {
            Self::Toml if is_bare => format!("{key} = {value}"),
            Self::Toml => format!("\"{key}\" = {value}"),
            Self::Yaml if is_bare => format!("{key}: {value}"),
            Self::Yaml | Self::Json => format!("\"{key}\": {value}"),
        }
    }

    fn inline(self, value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let pairs = map
                    .iter()
                    .map(|(key, value)| self.pair(key, &self.inline(value)));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::Array(items) => {
                let items = items.iter().map(|item| self.inline(item));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_04_examples_are_written_in_the_format_of_the_file() {
        let example = r#"{"delete_*": "ask", "tool": {"path": ["/"]}}"#;
        for (format, expected) in [
            (
                Format::Toml,
                r#"x = { "delete_*" = "ask", tool = { path = ["/"] } }"#,
            ),
            (
                Format::Yaml,
                r#"x: { "delete_*": "ask", tool: { path: ["/"] } }"#,
            ),
            (
                Format::Json,
                r#""x": { "delete_*": "ask", "tool": { "path": ["/"] } }"#,
            ),
        ] {
            assert_eq!(format.example("x", example), expected);
        }
        assert_eq!(Format::Yaml.example("x", "true"), "x: true");
    }
}
