//! Valid names for tools whose names a provider rejects.

use crate::limits::NAME_MAX;

/// Number of hash digits at the end of an alias.
const HASH_LENGTH: usize = 6;

/// The rules for names of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameRule {
    /// Characters besides ASCII letters, digits and `_`.
    pub(crate) also: &'static str,
    /// Whether the first character must be a letter or `_`.
    pub(crate) starts_with_letter: bool,
    pub(crate) max: usize,
}

/// Tool names of all providers except Gemini.
pub(crate) const TOOL: NameRule = NameRule {
    also: "-",
    starts_with_letter: false,
    max: NAME_MAX,
};

/// Function names of Gemini. It also allows dots and colons, which no other provider does.
pub(crate) const GEMINI_TOOL: NameRule = NameRule {
    also: "-",
    starts_with_letter: true,
    max: NAME_MAX,
};

impl NameRule {
    pub(crate) fn fits(&self, name: &str) -> bool {
        !name.is_empty()
            && name.len() <= self.max
            && name.chars().all(|c| self.takes(c))
            && (!self.starts_with_letter
                || !name.starts_with(|c: char| c.is_ascii_digit() || !self.may_start(c)))
    }

    fn takes(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_' || self.also.contains(c)
    }

    fn may_start(&self, c: char) -> bool {
        c.is_ascii_alphabetic() || c == '_'
    }

    /// Replaces invalid characters by `_` and truncates to `max`.
    pub(crate) fn replaced(&self, name: &str, max: usize) -> String {
        let mut text: String = name
            .chars()
            .map(|c| if self.takes(c) { c } else { '_' })
            .collect();
        if text.is_empty() || (self.starts_with_letter && !text.starts_with(|c| self.may_start(c)))
        {
            text.insert(0, '_');
        }
        text.truncate(max);
        text
    }

    /// A stable valid name for a tool. It ends in a hash of the original name, so that two tools never share one.
    pub(crate) fn alias(&self, name: &str) -> String {
        let hash = blake3::hash(name.as_bytes()).to_hex();
        let hash = hash.as_str().get(..HASH_LENGTH).unwrap_or_default();
        let kept = self.replaced(name, self.max - HASH_LENGTH - 1);
        format!("{kept}_{hash}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: NameRule, name: &str, fits: bool) {
        assert_eq!(rule.fits(name), fits, "{name:?}");
        assert!(rule.fits(&rule.alias(name)), "{:?}", rule.alias(name));
    }

    #[test]
    fn r_reg_08_aliases_satisfy_the_rule_that_the_name_violated() {
        check(TOOL, "github__close_issue", true);
        check(TOOL, "a.b", false);
        check(TOOL, "", false);
        check(TOOL, "日本", false);
        check(TOOL, &"x".repeat(64), true);
        check(TOOL, &"x".repeat(65), false);
        check(TOOL, "9lives", true);
        check(GEMINI_TOOL, "9lives", false);
        check(GEMINI_TOOL, "-x", false);
        check(GEMINI_TOOL, "_x", true);
    }

    #[test]
    fn r_reg_08_aliases_are_stable_and_differ() {
        assert_eq!(TOOL.alias("a.b"), TOOL.alias("a.b"));
        assert_ne!(TOOL.alias("a.b"), TOOL.alias("a/b"));
        let (one, two) = (
            format!("{}1", "x".repeat(80)),
            format!("{}2", "x".repeat(80)),
        );
        assert_ne!(TOOL.alias(&one), TOOL.alias(&two));
    }
}
