//! Removes the secrets of one server from every text that leaves this crate.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Shorter values would mask ordinary words.
const SHORTEST_SECRET: usize = 6;
/// The same for lists, where a wrong mask would change a tool's description.
const SHORTEST_CERTAIN: usize = 8;
/// The number of tokens of a login that are masked. A server may repeat a token for a while after its renewal.
const KEPT_TOKENS: usize = 8;
/// The replacement of a secret.
const MASK: &str = "***";

/// The resolved secrets of one server. It has no `Debug`, so that it cannot be printed.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Longest first, so that a secret that contains another one is masked completely.
    values: Vec<String>,
    /// The exact values that are certainly secrets, longest first.
    certain: Vec<String>,
    /// The newest tokens of the server's login, which change while the connection exists.
    tokens: RwLock<Vec<String>>,
}

impl Redactor {
    /// Adds a value in every form in which it may appear.
    pub(crate) fn add(&mut self, value: &str) {
        self.add_form(value);
        // A header such as `Bearer abc` may appear as `abc` alone.
        if let Some((_, credential)) = value.split_once(' ') {
            self.add_form(credential);
        }
        // Texts are cleaned line by line, so each line of a multi-line value is added.
        if value.contains('\n') {
            value.lines().for_each(|line| self.add_form(line));
        }
        // A server that dumps its environment as JSON writes the escaped form.
        if let Ok(escaped) = serde_json::to_string(value) {
            self.add_form(escaped.trim_matches('"'));
        }
        // A server that logs its requests writes a login as base64 and a URL with its values encoded.
        self.add_form(&utf8_percent_encode(value, NON_ALPHANUMERIC).to_string());
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            self.add_form(&engine.encode(value));
        }
        self.values
            .sort_by_key(|known| std::cmp::Reverse(known.len()));
    }

    fn add_form(&mut self, form: &str) {
        let form = form.trim();
        if form.chars().count() >= SHORTEST_SECRET && !self.values.iter().any(|known| known == form)
        {
            self.values.push(form.to_owned());
        }
    }

    /// Adds a value that is certainly a secret, so that it is masked in the server's lists as well.
    pub(crate) fn add_certain(&mut self, value: &str) {
        let value = value.trim();
        // A header such as `Bearer abc` may appear as `abc` alone.
        let credential = value
            .split_once(' ')
            .map(|(_, credential)| credential.trim());
        for form in [Some(value), credential].into_iter().flatten() {
            let is_known = self.certain.iter().any(|known| known == form);
            if form.chars().count() >= SHORTEST_CERTAIN && !is_known {
                self.certain.push(form.to_owned());
            }
        }
        self.certain
            .sort_by_key(|known| std::cmp::Reverse(known.len()));
    }

    /// Adds a token of the server's login. It is masked everywhere from now on.
    pub(crate) fn add_token(&self, token: &str) {
        let is_known = |tokens: &[String]| tokens.iter().any(|known| known == token);
        if token.len() < SHORTEST_SECRET || is_known(&self.tokens()) {
            return;
        }
        let mut tokens = self.tokens.write().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= KEPT_TOKENS {
            tokens.remove(0);
        }
        tokens.push(token.to_owned());
    }

    fn tokens(&self) -> std::sync::RwLockReadGuard<'_, Vec<String>> {
        self.tokens.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Masks certain secrets in a text of the handshake.
    pub(crate) fn mask(&self, text: &mut String) {
        for value in self.certain.iter().chain(self.tokens().iter()) {
            if text.contains(value.as_str()) {
                *text = text.replace(value.as_str(), MASK);
            }
        }
    }

    /// Masks certain secrets in a definition. A definition without any stays byte for byte.
    pub(crate) fn mask_definition(&self, definition: &mut Box<RawValue>) {
        let text = definition.get();
        let is_written = |value: &String| {
            let escaped = serde_json::to_string(value).unwrap_or_default();
            text.contains(value.as_str()) || text.contains(escaped.trim_matches('"'))
        };
        // A character may be written as an escape, which only parsing reveals.
        let tokens = self.tokens();
        if (self.certain.is_empty() && tokens.is_empty())
            || !(text.contains("\\u")
                || text.contains("\\/")
                || self.certain.iter().chain(tokens.iter()).any(is_written))
        {
            return;
        }
        drop(tokens);
        let Ok(read) = serde_json::from_str::<Value>(text) else {
            return;
        };
        let masked = self.masked(read.clone());
        if masked != read
            && let Ok(masked) = to_raw_value(&masked)
        {
            *definition = masked;
        }
    }

    fn masked(&self, value: Value) -> Value {
        match value {
            Value::String(mut text) => {
                self.mask(&mut text);
                Value::String(text)
            }
            Value::Array(items) => items.into_iter().map(|item| self.masked(item)).collect(),
            Value::Object(members) => {
                let members = members.into_iter().map(|(mut name, value)| {
                    self.mask(&mut name);
                    (name, self.masked(value))
                });
                Value::Object(members.collect())
            }
            other => other,
        }
    }

    /// Returns the text without secrets.
    pub(crate) fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut cleaned = Cow::Borrowed(text);
        for value in self.values.iter().chain(self.tokens().iter()) {
            if cleaned.contains(value.as_str()) {
                cleaned = Cow::Owned(cleaned.replace(value.as_str(), MASK));
            }
        }
        cleaned
    }

    /// The length in bytes of the longest secret, which must be held back where a text is cut.
    pub(crate) fn longest(&self) -> usize {
        let longest = self.values.first().map_or(0, String::len);
        let token = self.tokens().iter().map(String::len).max();
        longest.max(token.unwrap_or(0))
    }
}

/// Returns the start of a text, at most `bytes` long, never cut inside a character.
pub(crate) fn truncate(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secrets: &[&str], text: &str, expected: &str) {
        let mut redactor = Redactor::default();
        secrets.iter().for_each(|secret| redactor.add(secret));
        assert_eq!(redactor.clean(text), expected);
    }

    #[test]
    fn r_obs_03_secrets_become_stars_in_every_form() {
        check(&["canary-1"], "token=canary-1;", "token=***;");
        check(&["Bearer canary-2"], "got canary-2", "got ***");
        check(&["abcdef", "abcdefgh"], "abcdefgh abcdef", "*** ***");
        check(
            &["line one secret\nline two secret"],
            "x line two secret y",
            "x *** y",
        );
        check(&["with\"quote"], r#"{"K":"with\"quote"}"#, r#"{"K":"***"}"#);
        check(&["a b/c&d=e"], "?q=a%20b%2Fc%26d%3De!", "?q=***!");
        // `printf user:canary-9 | base64`
        check(&["user:canary-9"], "x dXNlcjpjYW5hcnktOQ== y", "x *** y");
        check(&["short"], "a short word stays", "a short word stays");
        check(&[], "plain", "plain");
    }

    #[test]
    fn r_sec_11_certain_secrets_are_masked_in_definitions_and_nothing_else_changes() {
        let mut redactor = Redactor::default();
        for value in [
            "ghp_0123456789",
            "Bearer canary-token-1",
            "quo\"te/secret",
            "true",
            "1",
        ] {
            redactor.add_certain(value);
        }
        let check = |definition: &str, expected: &str| {
            let mut raw = RawValue::from_string(definition.to_owned()).unwrap();
            redactor.mask_definition(&mut raw);
            assert_eq!(raw.get(), expected);
        };
        check(
            r#"{"name":"a", "n": 1.50, "d":"true \u00e9"}"#,
            r#"{"name":"a", "n": 1.50, "d":"true \u00e9"}"#,
        );
        check(
            r#"{"d":"use ghp_0123456789 here"}"#,
            r#"{"d":"use *** here"}"#,
        );
        check(r#"{"d":"\u0067hp_0123456789"}"#, r#"{"d":"***"}"#);
        check(r#"{"d":"quo\"te\/secret"}"#, r#"{"d":"***"}"#);
        check(
            r#"{"a":{"canary-token-1":["Bearer canary-token-1"]}}"#,
            r#"{"a":{"***":["***"]}}"#,
        );
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(truncate("äöü", 3), "ä");
        assert_eq!(truncate("abc", 10), "abc");
    }
}
