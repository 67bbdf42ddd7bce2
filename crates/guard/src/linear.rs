//! Patterns in linear time, or not at all.

use jsonschema::{PatternOptions, Regex};
use serde_json::{Map, Value, json};

/// Bytes of one compiled pattern, and of its cache.
const PATTERN_BYTES: usize = 1024 * 1024;

/// The engine that never steps back, so that no pattern and no text can make it slow.
pub(crate) fn linear_patterns() -> PatternOptions<Regex> {
    PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
}

/// Takes out of a schema what the linear engine cannot read: look-around, back-references, mistakes.
/// The rest of the schema still counts. The caller's parser bounds the nesting.
pub(crate) fn drop_unusable_patterns(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map
                .get("pattern")
                .and_then(Value::as_str)
                .is_some_and(|pattern| !is_usable(pattern))
            {
                map.shift_remove("pattern");
            }
            drop_unusable_names(map);
            map.values_mut().for_each(drop_unusable_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_unusable_patterns),
        _ => {}
    }
}

fn drop_unusable_names(map: &mut Map<String, Value>) {
    let Some(Value::Object(named)) = map.get_mut("patternProperties") else {
        return;
    };
    let before = named.len();
    named.retain(|pattern, _| is_usable(pattern));
    if named.len() < before {
        // What the lost pattern would have matched must not count as unknown.
        map.shift_remove("additionalProperties");
        map.shift_remove("unevaluatedProperties");
    }
}

fn is_usable(pattern: &str) -> bool {
    jsonschema::options()
        .with_pattern_options(linear_patterns())
        .build(&json!({"pattern": pattern}))
        .is_ok()
}
