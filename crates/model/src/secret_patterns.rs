//! Patterns of well-known keys and tokens, used to mask arguments and to redact logs.

use std::ops::Range;

/// A family of keys: one of several prefixes, followed by a minimum number of characters.
#[derive(Clone, Copy, Debug)]
pub struct SecretPattern {
    /// The possible prefixes.
    pub prefixes: &'static [&'static str],
    /// The characters after the prefix.
    pub characters: KeyCharacters,
    /// The minimum number of characters after the prefix.
    pub min_length: usize,
}

/// The alphabet of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCharacters {
    /// Upper-case letters and digits.
    Capitals,
    /// Letters, digits, `_` and `-`.
    Words,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
}

impl KeyCharacters {
    /// The alphabet as the content of a regex character class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Capitals => "A-Z0-9",
            Self::Words => "A-Za-z0-9_-",
            Self::Dotted => "A-Za-z0-9._-",
        }
    }

    /// Whether a byte belongs to the alphabet.
    pub fn contains(self, byte: u8) -> bool {
        match self {
            Self::Capitals => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Words => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Dotted => byte.is_ascii_alphanumeric() || b"._-".contains(&byte),
        }
    }
}

/// All known patterns.
pub const SECRET_PATTERNS: &[SecretPattern] = &[
    // OpenAI, Anthropic, Langfuse, Stripe.
    SecretPattern {
        prefixes: &["sk-", "sk_", "pk-", "pk_", "rk-", "rk_"],
        characters: KeyCharacters::Words,
        min_length: 12,
    },
    // GitHub, GitLab, Slack, npm, Hugging Face, PyPI, DigitalOcean, Shopify, Linear, Notion, Figma, Google,
    // SendGrid.
    SecretPattern {
        prefixes: &[
            "gho_",
            "ghp_",
            "ghs_",
            "ghu_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "glptt-",
            "xoxa-",
            "xoxb-",
            "xoxe-",
            "xoxo-",
            "xoxp-",
            "xoxr-",
            "xoxs-",
            "xapp-",
            "npm_",
            "hf_",
            "pypi-",
            "dop_v1_",
            "shpat_",
            "lin_api_",
            "ntn_",
            "figd_",
            "AIza",
            "ya29.",
            "SG.",
        ],
        characters: KeyCharacters::Dotted,
        min_length: 10,
    },
    // AWS access key ids.
    SecretPattern {
        prefixes: &["AKIA", "ASIA", "ABIA", "ACCA"],
        characters: KeyCharacters::Capitals,
        min_length: 12,
    },
    // JSON web tokens.
    SecretPattern {
        prefixes: &["eyJ"],
        characters: KeyCharacters::Dotted,
        min_length: 8,
    },
];

/// The start of a PEM block, before its label.
pub const PEM_START: &str = "-----BEGIN ";

/// Finds the ranges of a text that look like keys. Unlike log redaction, this is applied to names that people chose, so
/// `pypi-query-server` must not match: a key contains a long run of letters and digits.
pub fn find_secrets(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    if let Some(at) = text.find(PEM_START)
        && text
            .get(at..)
            .is_some_and(|rest| rest.contains("PRIVATE KEY"))
    {
        found.push(at..text.len());
        return found;
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut at = 0;
    while at < bytes.len() {
        let starts_word = at == 0 || bytes.get(at - 1).is_some_and(|byte| !is_word(*byte));
        match starts_word.then(|| secret_at(bytes, at)).flatten() {
            Some(end) => {
                found.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// The end of the key that starts at `at`, if there is one.
fn secret_at(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    SECRET_PATTERNS.iter().find_map(|pattern| {
        let start = pattern
            .prefixes
            .iter()
            .find(|start| rest.starts_with(start.as_bytes()))?;
        let tail = rest.get(start.len()..)?;
        let length = tail
            .iter()
            .take_while(|byte| pattern.characters.contains(**byte))
            .count();
        let is_key = length >= pattern.min_length && is_random(tail.get(..length)?);
        is_key.then_some(at + start.len() + length)
    })
}

/// Whether the text contains a run of at least 16 letters and digits, or of at least 8 with an upper-case letter or a
/// digit. Words joined by `-` or `_` contain neither.
fn is_random(tail: &[u8]) -> bool {
    let mut runs = tail.split(|byte| !byte.is_ascii_alphanumeric());
    runs.any(|run| {
        let mixed = run
            .iter()
            .any(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
        run.len() >= 16 || (run.len() >= 8 && mixed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = find_secrets(text)
            .into_iter()
            .filter_map(|range| text.get(range))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn r_cfg_08_keys_are_found_anywhere_in_an_argument() {
        check("ghp_0123456789abcdef", &["ghp_0123456789abcdef"]);
        check("--id=AKIAIOSFODNN7EXAMPLE", &["AKIAIOSFODNN7EXAMPLE"]);
        check("Bearer sk-proj-abcdef123456,x", &["sk-proj-abcdef123456"]);
        check(
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            &["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"],
        );
        check(
            "https://host/ghp_0123456789abcdef/mcp",
            &["ghp_0123456789abcdef"],
        );
        check(
            "x -----BEGIN RSA PRIVATE KEY-----\nMII",
            &["-----BEGIN RSA PRIVATE KEY-----\nMII"],
        );
    }

    #[test]
    fn names_of_packages_and_files_are_not_keys() {
        for text in [
            "pypi-query-mcp-server",
            "sk-learn-mcp-server@1.2.3",
            "npm_config_registry_name",
            "ghp_",
            "sk-8",
            "hf_transfer_download",
            "-----BEGIN CERTIFICATE-----",
            "eyJ",
            "",
            "server@1.2.3",
            "task-ghp",
            "xghp_0123456789abcdef",
        ] {
            check(text, &[]);
        }
    }
}
