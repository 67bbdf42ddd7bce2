//! Finds the fields in which two tool definitions differ.

use std::collections::BTreeSet;

use pegboard_model::UntrustedText;
use serde_json::{Map, Value};

/// Paths that are reported for one tool.
const MAX_PATHS: usize = 8;
/// Levels that are compared; `inputSchema.properties.owner.description` has four.
const MAX_DEPTH: usize = 5;
/// Characters of a reported path.
const PATH_LENGTH: usize = 120;

/// Returns the first paths at which two definitions differ, sorted. Texts, schemas and annotations are compared.
pub fn changed_fields(old: &str, new: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut paths = BTreeSet::new();
    compare(&read(old), &read(new), "", MAX_DEPTH, &mut paths);
    paths.into_iter().collect()
}

fn compare(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    path: &str,
    levels: usize,
    found: &mut BTreeSet<String>,
) {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        if found.len() >= MAX_PATHS {
            return;
        }
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{}", UntrustedText::new(key).shortened(60));
        match (old.get(key), new.get(key)) {
            (before, after) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) if levels > 1 => {
                compare(before, after, &path, levels - 1, found);
            }
            _ => {
                found.insert(path.chars().take(PATH_LENGTH).collect());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_disc_08_a_change_is_reported_by_its_path() {
        let old = r#"{"name":"a","description":"x","inputSchema":{"type":"object","properties":{"p":{"type":"string"},"q":{}}}}"#;
        let new = r#"{"name":"a","description":"y","inputSchema":{"properties":{"p":{"type":"integer"},"r":{}},"type":"object"},"annotations":{}}"#;
        let expected = [
            "annotations",
            "description",
            "inputSchema.properties.p.type",
            "inputSchema.properties.q",
            "inputSchema.properties.r",
        ];
        assert_eq!(changed_fields(old, new), expected);
        assert!(changed_fields(old, old).is_empty());
    }

    #[test]
    fn the_number_of_paths_is_bounded() {
        let many: String = (0..100).map(|n| format!(r#""k{n}":1,"#)).collect();
        assert_eq!(
            changed_fields("{}", &format!(r#"{{{many}"z":1}}"#)).len(),
            MAX_PATHS
        );
    }
}
