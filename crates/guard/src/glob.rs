//! Tool name patterns: `*` stands for any run of characters, `?` for exactly one.

pub use pegboard_model::matches_pattern as matches;

/// Whether a name or pattern means a name.
pub(crate) fn fits(written: &str, name: &str) -> bool {
    match is_pattern(written) {
        true => matches(written, name),
        false => written == name,
    }
}

/// Whether a text is a pattern and not a name.
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// How much a pattern pins down: the characters that stand for themselves.
pub(crate) fn literal_characters(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()
}
