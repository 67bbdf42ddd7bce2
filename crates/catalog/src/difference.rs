//! Where two definitions differ, as short paths.

use std::collections::BTreeSet;

use pegboard_model::UntrustedText;
use serde_json::{Map, Value};

/// Paths that are told for one tool.
const PATHS: usize = 8;
/// Levels that are looked into; `inputSchema.properties.owner.description` has four.
const LEVELS: usize = 5;
/// Characters of a path that are kept.
const PATH_LENGTH: usize = 120;

/// The first places in which two definitions differ, sorted. Texts, schemas and hints all count.
pub fn changed_fields(old: &str, new: &str) -> Vec<String> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut paths = BTreeSet::new();
    compare(&read(old), &read(new), "", LEVELS, &mut paths);
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
        if found.len() >= PATHS {
            return;
        }
        let dot = if path.is_empty() { "" } else { "." };
        let place = format!("{path}{dot}{}", UntrustedText::new(key).shortened(60));
        match (old.get(key), new.get(key)) {
            (before, after) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) if levels > 1 => {
                compare(before, after, &place, levels - 1, found);
            }
            _ => {
                found.insert(place.chars().take(PATH_LENGTH).collect());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_disc_08_a_change_is_told_by_its_place() {
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
    fn the_number_of_places_is_bounded() {
        let many: String = (0..100).map(|n| format!(r#""k{n}":1,"#)).collect();
        assert_eq!(
            changed_fields("{}", &format!(r#"{{{many}"z":1}}"#)).len(),
            PATHS
        );
    }
}
