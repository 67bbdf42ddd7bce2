//! Nesting depth of a JSON text, computed without recursion.

/// The nesting depth of objects and arrays in a JSON text; 0 for a scalar.
///
/// It scans the bytes without a stack, so that a hundred thousand brackets are harmless. It must run before anything
/// that parses recursively.
pub(crate) fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::nesting;

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert_eq!(nesting("1"), 0);
        assert_eq!(nesting("{}"), 1);
        assert_eq!(nesting(r#"{"a":[1,{"b":"[[[{{{\"[["}]}"#), 3);
        assert_eq!(nesting(r#"["\\",[]]"#), 2);
    }

    #[test]
    fn r_sec_01_a_hundred_thousand_levels_are_counted() {
        assert_eq!(nesting(&"[".repeat(100_000)), 100_000);
    }
}
