//! Tool name patterns: `*` matches any number of characters, `?` exactly one.

pub use pegboard_model::matches_pattern as matches;

/// Whether a name or pattern matches a name.
pub(crate) fn fits(written: &str, name: &str) -> bool {
    match is_pattern(written) {
        true => matches(written, name),
        false => written == name,
    }
}

/// Whether a text is a pattern rather than a name.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Number of literal characters of a pattern, a measure of its specificity.
pub(crate) fn literal_characters(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()
}
