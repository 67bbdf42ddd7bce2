//! Regular expressions that providers support.

/// Whether Anthropic and OpenAI accept a pattern; both use Python's syntax. Look-around is supported; Unicode classes
/// and groups named with angle brackets only are not.
pub(crate) fn is_portable(pattern: &str) -> bool {
    let Some(plain) = without_lookaround(pattern) else {
        return false;
    };
    regex_syntax::parse(&plain).is_ok()
}

/// Whether a pattern is regular: portable, without look-around and back-references.
pub(crate) fn is_regular(pattern: &str) -> bool {
    is_portable(pattern) && regex_syntax::parse(pattern).is_ok()
}

/// The pattern with look-around replaced by plain groups, so that the rest can be parsed. `None` if it uses syntax that
/// other engines do not support.
fn without_lookaround(pattern: &str) -> Option<String> {
    let mut plain = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        if c == '\\' {
            let escaped = rest.chars().nth(1)?;
            if !is_common_escape(escaped, rest) {
                return None;
            }
            // `\<` is an assertion in some engines and a literal in others.
            if matches!(escaped, '<' | '>') {
                return None;
            }
            plain.push('\\');
            plain.push(escaped);
            rest = rest.get(1 + escaped.len_utf8()..)?;
            continue;
        }
        if let Some(group) = rest.strip_prefix("(?") {
            let width = ["<=", "<!", "=", "!", ":"]
                .iter()
                .find(|opener| group.starts_with(**opener))?
                .len();
            plain.push_str("(?:");
            rest = group.get(width..)?;
            continue;
        }
        plain.push(c);
        rest = rest.get(c.len_utf8()..)?;
    }
    Some(plain)
}

fn is_common_escape(escaped: char, rest: &str) -> bool {
    match escaped {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'b' | 'B' | 'n' | 'r' | 't' | 'f' | 'v' => true,
        'u' => hex_digits(rest, 4),
        'x' => hex_digits(rest, 2),
        c => c.is_ascii_punctuation(),
    }
}

fn hex_digits(rest: &str, count: usize) -> bool {
    rest.get(2..2 + count)
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, portable: bool, regular: bool) {
        assert_eq!(is_portable(pattern), portable, "{pattern}");
        assert_eq!(is_regular(pattern), regular, "{pattern}");
    }

    #[test]
    fn unsupported_patterns_are_recognized() {
        check("^[a-z]+$", true, true);
        check(r"^\d{3}-\w+$", true, true);
        check(r"^(?!__).*$", true, false);
        check(r"^[^\p{Cc}]+$", false, false);
        check(r"(?<year>\d+)", false, false);
        check("[", false, false);
        check("(a", false, false);
        check("a\\", false, false);
        check(r"^\/v1\/", true, true);
        check(r"a\<b", false, false);
        check(r"\u00e9", true, true);
        check(r"(?i)abc", false, false);
    }
}
