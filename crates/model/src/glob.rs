//! Name patterns: `*` matches any number of characters, `?` exactly one.

/// Whether a pattern matches a complete name. Only the last star is ever retried, so the cost of hostile patterns and
/// names is bounded by the product of their lengths.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || name.get(read) == Some(wanted) => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    at = star_at + 1;
                    read = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(at..)
        .unwrap_or_default()
        .iter()
        .all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("delete_*", "delete_issue", true),
            ("delete_*", "undelete_issue", false),
            ("*_issue", "close_issue", true),
            ("*issue*", "list_issues", true),
            ("get_?", "get_a", true),
            ("get_?", "get_", false),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYb", false),
            ("?", "語", true),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
        assert!(!matches_pattern(&"*a".repeat(60), &"a".repeat(59)));
    }
}
