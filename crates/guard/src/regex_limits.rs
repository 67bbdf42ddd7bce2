//! Limits that keep the matching of regular expressions linear and cheap.

use std::collections::HashSet;

use jsonschema::{PatternOptions, Regex};
use serde_json::{Map, Value, json};

/// Maximum bytes of one compiled pattern and of its cache, about a millisecond of work. Real patterns need a few kB.
const PATTERN_BYTES: usize = 128 * 1024;
/// Maximum number of distinct patterns of one schema; further ones are left to the server.
const PATTERNS: usize = 64;
/// Minimum bytes of one state of a compiled pattern; it bounds the number of states.
const STATE_BYTES: usize = 24;

/// Options for the engine without backtracking, so that no pattern and no text is slow.
pub(crate) fn linear_patterns() -> PatternOptions<Regex> {
    PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
}

/// Upper bound for the number of states of a pattern that are active during matching. It is the cost per character.
pub(crate) fn states(pattern: &str) -> usize {
    // Nested counted repetitions multiply.
    let bounds = pattern.split('{').skip(1).flat_map(|rest| {
        let inside = rest.split('}').next().unwrap_or_default();
        inside
            .split(',')
            .filter_map(|bound| bound.trim().parse().ok())
    });
    bounds
        .fold(pattern.len(), |states, bound: usize| {
            states.saturating_mul(bound.max(1))
        })
        .min(PATTERN_BYTES / STATE_BYTES)
}

/// Removes the patterns beyond the maximum number from a schema. Returns whether any were removed.
pub(crate) fn drop_surplus_patterns(schema: &mut Value) -> bool {
    let mut seen = HashSet::new();
    let mut dropped = false;
    retain_patterns(schema, &mut |pattern| {
        let keep = seen.contains(pattern) || seen.len() < PATTERNS;
        if keep {
            seen.insert(pattern.to_owned());
        }
        dropped |= !keep;
        keep
    });
    dropped
}

/// Removes patterns from a schema that the linear engine does not support: look-around, back-references, syntax errors.
pub(crate) fn drop_unusable_patterns(schema: &mut Value) {
    retain_patterns(schema, &mut is_usable);
}

/// Recursion is bounded by the parser's nesting limit.
fn retain_patterns(schema: &mut Value, keep: &mut dyn FnMut(&str) -> bool) {
    match schema {
        Value::Object(map) => {
            if map
                .get("pattern")
                .and_then(Value::as_str)
                .is_some_and(|pattern| !keep(pattern))
            {
                map.shift_remove("pattern");
            }
            retain_names(map, keep);
            map.values_mut()
                .for_each(|inner| retain_patterns(inner, keep));
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|inner| retain_patterns(inner, keep)),
        _ => {}
    }
}

fn retain_names(map: &mut Map<String, Value>, keep: &mut dyn FnMut(&str) -> bool) {
    let Some(Value::Object(named)) = map.get_mut("patternProperties") else {
        return;
    };
    let before = named.len();
    named.retain(|pattern, _| keep(pattern));
    if named.len() < before {
        // Properties that the removed pattern would have matched must not be rejected as unknown.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_of_a_pattern_are_never_guessed_too_low() {
        assert_eq!(states("^a+$"), 4);
        assert_eq!(states("a{10}"), 50);
        assert_eq!(states("(a{2,30}){4}"), 12 * 2 * 30 * 4);
        assert_eq!(states("a{0}{"), 5);
        assert_eq!(states("(a{900}){900}"), PATTERN_BYTES / STATE_BYTES);
    }
}
