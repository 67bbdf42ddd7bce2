//! Masks secrets in exported texts: known values, and everything that looks like a secret.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use aho_corasick::{AhoCorasick, MatchKind};
use arc_swap::ArcSwapOption;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use pegboard_model::Secret;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::patterns::mask_patterns;

/// The replacement of a secret.
pub(crate) const MASK: &str = "***";
/// Shorter values are not redacted, because they would mask ordinary words.
const SHORTEST_SECRET: usize = 6;
/// Maximum number of known forms. With more, everything is masked.
const FORMS_MAX: usize = 50_000;
/// Minimum number of bytes removed from the end of a truncated text, because a truncated secret cannot be recognised.
const CUT_MARGIN: usize = 512;

/// The known secrets of this process, shared by logs and exporters. Redacting takes no lock.
#[derive(Default)]
pub struct Redactor {
    forms: Mutex<BTreeSet<String>>,
    known: ArcSwapOption<KnownSecrets>,
}

struct KnownSecrets {
    /// `None` if there are too many forms.
    finder: Option<AhoCorasick>,
    longest: usize,
}

impl Redactor {
    /// Creates a redactor that knows these secrets.
    pub fn with_secrets<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let redactor = Self::default();
        redactor.learn(secrets);
        redactor
    }

    /// Adds secrets, each in every form in which it may appear. Secrets are never removed: an old value is still secret.
    pub fn learn<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        let before = forms.len();
        for secret in secrets {
            forms_of(secret.reveal(), &mut forms);
        }
        if forms.len() == before {
            return;
        }
        let finder = (forms.len() <= FORMS_MAX).then(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(forms.iter())
        });
        self.known.store(Some(std::sync::Arc::new(KnownSecrets {
            finder: finder.and_then(Result::ok),
            longest: forms.iter().map(String::len).max().unwrap_or(0),
        })));
    }

    /// Masks the secrets in a text.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known.load();
        let masked = match known.as_deref() {
            None => Cow::Borrowed(text),
            Some(KnownSecrets { finder: None, .. }) => return Cow::Borrowed(MASK),
            Some(KnownSecrets {
                finder: Some(finder),
                ..
            }) if finder.is_match(text) => {
                let mut cleaned = String::with_capacity(text.len());
                finder.replace_all_with(text, &mut cleaned, |_, _, cleaned| {
                    cleaned.push_str(MASK);
                    true
                });
                Cow::Owned(cleaned)
            }
            Some(_) => Cow::Borrowed(text),
        };
        mask_patterns(masked)
    }

    /// Masks the secrets in the first `max` bytes of a text. Only reads as much of the text as necessary, and leaves no
    /// part of a secret that crosses the limit.
    pub fn clean_start(&self, text: &str, max: usize) -> String {
        let start = cut(text, max.saturating_add(self.margin()));
        self.clean_cut(start, start.len() < text.len(), max)
    }

    /// Like [`Redactor::clean_start`], for a text that may have been truncated to at least `max` plus
    /// [`Redactor::margin`] bytes.
    pub(crate) fn clean_cut(&self, text: &str, was_cut: bool, max: usize) -> String {
        let cleaned = self.clean(text);
        let kept = match was_cut {
            true => cleaned.len().saturating_sub(self.margin()).min(max),
            false => max,
        };
        let kept = cut(&cleaned, kept);
        match was_cut || kept.len() < cleaned.len() {
            true => format!("{kept}…"),
            false => kept.to_owned(),
        }
    }

    /// How many bytes beyond the exported part must be read.
    pub(crate) fn margin(&self) -> usize {
        let known = self.known.load();
        known
            .as_deref()
            .map_or(0, |known| known.longest)
            .max(CUT_MARGIN)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(***)")
    }
}

fn forms_of(value: &str, forms: &mut BTreeSet<String>) {
    let mut add = |form: &str| {
        let form = form.trim();
        if form.chars().count() >= SHORTEST_SECRET && forms.len() <= FORMS_MAX {
            forms.insert(form.to_owned());
        }
    };
    add(value);
    // A header such as `Bearer abc` may appear as `abc` alone.
    if let Some((_, credential)) = value.split_once(' ') {
        add(credential);
    }
    // Multi-line texts are often printed line by line.
    value.lines().for_each(&mut add);
    if let Ok(quoted) = serde_json::to_string(value) {
        let inner = quoted.trim_matches('"');
        add(inner);
        // JSON inside a JSON string.
        if let Ok(twice) = serde_json::to_string(inner) {
            add(twice.trim_matches('"'));
        }
    }
    add(&utf8_percent_encode(value, NON_ALPHANUMERIC).to_string());
    for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        add(&engine.encode(value));
    }
}

/// The start of a text, at most `bytes` long, cut at a character boundary.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
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
        let secrets: Vec<Secret> = secrets.iter().map(|secret| Secret::new(*secret)).collect();
        assert_eq!(Redactor::with_secrets(&secrets).clean(text), expected);
    }

    #[test]
    fn r_obs_03_known_values_go_in_every_form() {
        check(&["canary-1"], "got canary-1;", "got ***;");
        check(&["Custom canary-2"], "got canary-2", "got ***");
        check(&["abcdef", "abcdefgh"], "abcdefgh abcdef", "*** ***");
        check(
            &["one line here\ntwo lines here"],
            "x two lines here y",
            "x *** y",
        );
        check(&["with\"quote"], r#"{"K":"with\"quote"}"#, r#"{"K":"***"}"#);
        check(
            &["with\"quote"],
            r#"{"K":"{\"k\":\"with\\\"quote\"}"}"#,
            r#"{"K":"{\"k\":\"***\"}"}"#,
        );
        check(&["a b/c&d=e"], "?q=a%20b%2Fc%26d%3De!", "?q=***!");
        // `printf user:canary-9 | base64`
        check(&["user:canary-9"], "x dXNlcjpjYW5hcnktOQ== y", "x *** y");
        check(&["short"], "a short word stays", "a short word stays");
        check(&[], "plain", "plain");
    }

    #[test]
    fn r_obs_03_a_secret_at_a_cut_does_not_survive_in_part() {
        let secret = "canary-".repeat(100);
        let redactor = Redactor::with_secrets([&Secret::new(secret.as_str())]);
        for before in 0..60 {
            let text = format!("{}{secret}{}", "x".repeat(before), "y".repeat(3000));
            for max in [10, 30, 50, 700, 720] {
                let shown = redactor.clean_start(&text, max);
                assert!(!shown.contains("canar"), "{before} {max}: {shown}");
                assert!(shown.len() <= max + "…".len());
            }
        }
        assert_eq!(redactor.clean_start("short text", 100), "short text");
        assert_eq!(redactor.clean_start("äöü", 3), "ä…");
    }

    #[test]
    fn r_obs_03_secrets_learnt_later_are_redacted_at_once() {
        let redactor = Redactor::default();
        assert_eq!(redactor.clean("canary-3"), "canary-3");
        redactor.learn([&Secret::new("canary-3")]);
        assert_eq!(redactor.clean("canary-3"), "***");
        redactor.learn([&Secret::new("canary-4")]);
        assert_eq!(redactor.clean("canary-3 canary-4"), "*** ***");
        assert_eq!(format!("{redactor:?}"), "Redactor(***)");
    }
}
