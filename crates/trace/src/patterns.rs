//! Patterns for secrets that are not known by value.

use std::borrow::Cow;
use std::sync::OnceLock;

use pegboard_model::{PEM_START, SECRET_PATTERNS};
use regex::{Regex, RegexSet};

use crate::redactor::MASK;

/// Each pattern has a group `keep` for the readable text before the secret. All run in linear time, and also match the
/// start of a truncated secret.
const PATTERNS: &[&str] = &[
    // `password=…`, `"api_key": "…"`, `X-Api-Key: …`, also within quoted JSON.
    r#"(?ix)(?<keep>
        (?: pass(?:word|wd|phrase)? | pwd | secret | token | api[-_.]?key | access[-_.]?key | auth[-_.]?key
          | private[-_.]?key | client[-_.]?secret | credential s? | authorization | session[-_.]?key | signature )
        (?: [-_.]?(?:id|key|value) )?
        (?: \\* ["'] )? \s* [=:]>? \s* (?: \\* ["'] )?
        (?: (?:bearer|basic|token) \s+ )? )
        [^\s"'\\,;&<>{}\[\]]{6,}"#,
    // The same as command-line arguments.
    r"(?i)(?<keep>--?[a-z0-9-]*(?:password|passwd|secret|token|key|auth)\s+)[^\s-][^\s]{5,}",
    r"(?i)(?<keep>\bcookie\s*:\s*)[^\r\n\x22]{6,}",
    // Authorization headers, wherever they are quoted.
    r"(?i)(?<keep>\bbearer[ +]+)[A-Za-z0-9._~+/=:-]{8,}",
    r"(?<keep>\bBasic )[A-Za-z0-9+/_-]{8,}={0,2}",
    // A login in a URL.
    r"(?i)(?<keep>\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@\x22'<>]*:[^\s/@\x22'<>]+@",
];

/// All patterns: those above, keys with a known prefix, and private keys up to the end of the block or text.
fn all_patterns() -> Vec<String> {
    let shapes = SECRET_PATTERNS.iter().map(|pattern| {
        let prefixes: Vec<String> = pattern
            .prefixes
            .iter()
            .map(|start| regex::escape(start))
            .collect();
        let (prefixes, class) = (prefixes.join("|"), pattern.characters.class());
        format!(
            r"(?<keep>)\b(?:{prefixes})[{class}]{{{},}}",
            pattern.min_length
        )
    });
    let key = format!(
        r"(?s)(?<keep>){PEM_START}[A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)"
    );
    let patterns = PATTERNS.iter().map(|pattern| (*pattern).to_owned());
    patterns.chain(shapes).chain([key]).collect()
}

struct Patterns {
    any: RegexSet,
    each: Vec<Regex>,
}

/// Compiled at the first use: it takes a millisecond, and most commands never need it.
fn patterns() -> Option<&'static Patterns> {
    static COMPILED: OnceLock<Option<Patterns>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| {
        let patterns = all_patterns();
        let each: Result<_, _> = patterns.iter().map(|pattern| Regex::new(pattern)).collect();
        let (any, each) = (RegexSet::new(&patterns).ok()?, each.ok()?);
        Some(Patterns { any, each })
    });
    compiled.as_ref()
}

/// Masks everything that looks like a secret.
pub(crate) fn mask_patterns(text: Cow<'_, str>) -> Cow<'_, str> {
    // The patterns are constant and valid. If one were not, hiding everything is the safe choice.
    let Some(patterns) = patterns() else {
        return Cow::Borrowed(MASK);
    };
    let mut cleaned = text;
    for index in patterns.any.matches(&cleaned).iter() {
        if let Some(pattern) = patterns.each.get(index) {
            let next = pattern.replace_all(&cleaned, format!("${{keep}}{MASK}"));
            if let Cow::Owned(next) = next {
                cleaned = Cow::Owned(next);
            }
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(mask_patterns(Cow::Borrowed(text)), expected);
    }

    #[test]
    fn r_obs_03_possible_secrets_are_masked_with_stars() {
        check(
            "Authorization: Bearer abcDEF123456",
            "Authorization: Bearer ***",
        );
        check("got Bearer abcDEF123456.x", "got Bearer ***");
        check("key sk-proj-abcdef1234567890abcdef", "key ***");
        check("sk-ant-api03-AbCd_efgh-ijkl0123456789", "***");
        check("ghp_0123456789abcdefghij0123456789abcdef", "***");
        check("AKIAIOSFODNN7EXAMPLE!", "***!");
        check(
            "x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl y",
            "x *** y",
        );
        check("postgres://ada:lovelace@db/x", "postgres://***db/x");
        check("password=hunter2hunter", "password=***");
        check(
            r#"{"api_key":"abcdefgh","n":1}"#,
            r#"{"api_key":"***","n":1}"#,
        );
        check(
            r#""{\"apiKey\":\"abcdefgh\"}""#,
            r#""{\"apiKey\":\"***\"}""#,
        );
        check("--token abcdefgh next", "--token *** next");
        check("Cookie: a=bcdefg; h=ijklmn\nnext", "Cookie: ***\nnext");
        check("X-Api-Key: abcdefgh", "X-Api-Key: ***");
        check(
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG",
            "AWS_SECRET_ACCESS_KEY=***",
        );
        check(
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- rest",
            "*** rest",
        );
        check("-----BEGIN PRIVATE KEY-----\nMIIEcut", "***");
    }

    #[test]
    fn r_obs_03_the_table_of_shapes_means_the_same_as_bytes_and_as_patterns() {
        for pattern in SECRET_PATTERNS {
            let class = format!("^[{}]$", pattern.characters.class());
            let class = Regex::new(&class).unwrap();
            for byte in 0..=127_u8 {
                let text = char::from(byte).to_string();
                let is_same = class.is_match(&text) == pattern.characters.contains(byte);
                assert!(is_same, "{byte} {:?}", pattern.characters);
            }
            for start in pattern.prefixes {
                check(&format!("{start}{}", "A1".repeat(20)), "***");
            }
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in [
            "tools/call search finds 12 tools",
            "https://example.com/a/b?c=d",
            "the tokens of a list: 12",
            "sk-8",
            "a basic idea of basic information",
            "the token budget, a secret agent, the password policy",
            "input_tokens: 123456, token_count=123456",
            "4bf92f3577b34da6a3ce929d0e0e4736",
            "brave_search__web_search",
        ] {
            check(text, text);
        }
    }
}
