//! Patterns in linear time, or not at all.

use std::collections::HashSet;

use jsonschema::{PatternOptions, Regex};
use serde_json::{Map, Value, json};

/// Bytes of one compiled pattern, and of its cache: a millisecond of work. Real patterns need a few kB.
const PATTERN_BYTES: usize = 128 * 1024;
/// Different patterns of one schema that are made ready; what goes beyond is left to the server.
const PATTERNS: usize = 64;
/// The smallest part of a compiled pattern, so that the states of any pattern have an upper bound.
const STATE_BYTES: usize = 24;

/// The engine that never steps back, so that no pattern and no text can make it slow.
pub(crate) fn linear_patterns() -> PatternOptions<Regex> {
    PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES)
}

/// How many states a pattern may have at once while it is matched. Linear means so much work for each
/// character of the text.
pub(crate) fn states(pattern: &str) -> usize {
    // Each bound of a counted repetition may repeat all the others.
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

/// Takes out of a schema the patterns beyond the number that is made ready; tells whether there were any.
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

/// Takes out of a schema what the linear engine cannot read: look-around, back-references, mistakes.
/// The rest of the schema still counts.
pub(crate) fn drop_unusable_patterns(schema: &mut Value) {
    retain_patterns(schema, &mut is_usable);
}

/// The caller's parser bounds the nesting.
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
