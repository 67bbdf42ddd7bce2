//! Finds values that look like secrets, so that they can be moved into the secret store.

use std::ops::Range;

use pegboard_model::{Secret, find_secrets, names_a_secret, plaintext_secret};

use super::value::{ImportValue, ValuePart, slug};

/// Where a value is.
#[derive(Clone, Copy)]
pub(super) enum SecretPlace<'a> {
    /// A variable or header of this name.
    Named(&'a str),
    /// The token.
    Bearer,
    /// An argument, after this one.
    Argument(Option<&'a str>),
    Url,
}

/// Shortest value of a secret's name that counts as a secret.
const MIN_SECRET: usize = 4;

/// Splits off everything in a value that looks like a secret.
pub(super) fn mark_secrets(value: ImportValue, place: SecretPlace<'_>) -> ImportValue {
    let is_plain = value.plain().is_some();
    let mut marked = Vec::new();
    for part in value.0 {
        match part {
            ValuePart::Literal(text) => split(&text, place, is_plain, &mut marked),
            other => marked.push(other),
        }
    }
    ImportValue(marked)
}

fn split(text: &str, place: SecretPlace<'_>, is_plain: bool, parts: &mut Vec<ValuePart>) {
    // Beside a reference, a literal text is a part such as `Bearer `; only known forms of keys count there.
    let mut ranges = find_secrets(text);
    if is_plain && ranges.is_empty() {
        ranges = secret_ranges(text, place);
    }
    let mut at = 0;
    for range in ranges {
        let (Some(before), Some(secret)) = (text.get(at..range.start), text.get(range.clone()))
        else {
            continue;
        };
        if !before.is_empty() {
            parts.push(ValuePart::Literal(before.to_owned()));
        }
        parts.push(ValuePart::Secret {
            value: Secret::new(secret),
            hint: hint(text, place, range.start),
        });
        at = range.end;
    }
    if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        parts.push(ValuePart::Literal(rest.to_owned()));
    }
}

fn secret_ranges(text: &str, place: SecretPlace<'_>) -> Vec<Range<usize>> {
    match place {
        SecretPlace::Bearer => std::iter::once(0..text.len()).collect(),
        SecretPlace::Named(name) if names_a_secret(name) => {
            let start = scheme_length(text);
            let is_long = text.len() - start >= MIN_SECRET;
            let is_path = text.starts_with(['/', '.', '~']);
            let is_word = matches!(text, "true" | "false" | "none" | "null");
            match is_long && !is_path && !is_word {
                true => std::iter::once(start..text.len()).collect(),
                false => Vec::new(),
            }
        }
        SecretPlace::Named(_) => url_ranges(text),
        SecretPlace::Argument(before) if is_command_line(before, text) => command_ranges(text),
        SecretPlace::Argument(before) => argument_range(before, text).into_iter().collect(),
        SecretPlace::Url => url_ranges(text),
    }
}

/// The length of `Bearer ` and similar words before a token.
fn scheme_length(text: &str) -> usize {
    match text.split_once(' ') {
        Some((scheme, token)) if !token.contains(' ') => scheme.len() + 1,
        _ => 0,
    }
}

fn argument_range(before: Option<&str>, text: &str) -> Option<Range<usize>> {
    if let Some((name, value)) = text.split_once(": ")
        && names_a_secret(name)
        && !value.is_empty()
    {
        let start = name.len() + 2;
        return Some(start + scheme_length(value)..text.len());
    }
    let secret = plaintext_secret(before, text);
    match secret {
        Some(secret) => {
            let start = text.rfind(secret)?;
            Some(start..start + secret.len())
        }
        None => url_ranges(text).into_iter().next(),
    }
}

/// Whether an argument is a command line, such as that of `sh -c`, and not one value.
fn is_command_line(before: Option<&str>, text: &str) -> bool {
    if !text.contains(' ') || plaintext_secret(before, text) == Some(text) {
        return false;
    }
    let is_shell = before.is_some_and(|flag| {
        flag.starts_with('-') && !flag.starts_with("--") && flag.ends_with('c')
    });
    let name = text.split(['=', ':']).next().unwrap_or_default();
    let follows_flag = before.is_some_and(|flag| flag.starts_with('-'));
    let mut words = text.split(' ').skip(1);
    let has_flags = !follows_flag && !text.starts_with('-') && words.any(|w| w.starts_with('-'));
    is_shell || has_flags || name.contains([' ', '\'', '"'])
}

fn ends_word(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | ';')
}

fn is_scheme(word: &str) -> bool {
    let schemes = ["bearer", "basic", "token", "apikey"];
    schemes
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// The secrets in the words of a command line. Each ends with its word, or with the quotes that it is in.
fn command_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    let mut quote: Option<char> = None;
    let mut quoted_from = None;
    // The word before, and whether it is the first one in quotes.
    let mut before: Option<(&str, bool)> = None;
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        if ends_word(first) {
            at += first.len_utf8();
            if matches!(first, '\'' | '"') {
                quote = (quote != Some(first)).then_some(first);
                quoted_from = quote.map(|_| at);
            }
            continue;
        }
        let length = rest.find(ends_word).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let is_quoted = quoted_from == Some(at);
        let whole = |is_quoted: bool| {
            let end = quote.filter(|_| is_quoted);
            end.map_or(length, |quote| rest.find(quote).unwrap_or(rest.len()))
        };
        let named = before.filter(|(name, _)| {
            let name = name.strip_suffix(':').or(name.strip_suffix('='));
            name.is_some_and(names_a_secret)
        });
        if named.is_some() && is_scheme(word) {
            at += length;
            continue;
        }
        let found = match named {
            Some((_, is_first)) => Some((0, whole(is_quoted || is_first))),
            None => plaintext_secret(before.map(|(word, _)| word), word).and_then(|secret| {
                let start = word.rfind(secret)?;
                let is_all = secret.len() == length;
                let end = if is_all {
                    whole(is_quoted)
                } else {
                    start + secret.len()
                };
                Some((start, end))
            }),
        };
        // A `$` starts a variable of the shell.
        let found = found.filter(|(start, end)| {
            let secret = rest.get(*start..*end).unwrap_or_default();
            secret.len() >= MIN_SECRET && !secret.starts_with('$')
        });
        let mut end = length;
        match found {
            Some((start, after)) => {
                ranges.push(at + start..at + after);
                end = end.max(after);
            }
            None => {
                let in_url = url_ranges(word).into_iter();
                ranges.extend(in_url.map(|range| at + range.start..at + range.end));
            }
        }
        before = Some((word, is_quoted));
        at += end;
    }
    ranges
}

/// The name before a secret in a command line.
fn command_hint(before: &str) -> String {
    let mut words = before.rsplit(ends_word);
    let name = words.find(|word| !word.is_empty() && !is_scheme(word));
    // Any other word may be a secret itself.
    let is_name = |word: &&str| word.starts_with('-') || word.contains('=') || word.ends_with(':');
    let name = name.filter(|word| is_name(word) && !word.contains("://"));
    slug(
        name.and_then(|name| name.split('=').next())
            .unwrap_or_default(),
    )
}

/// The password and the secret parameters of a URL.
fn url_ranges(text: &str) -> Vec<Range<usize>> {
    let Some(start) = text.find("://").map(|at| at + 3) else {
        return Vec::new();
    };
    let mut ranges = Vec::new();
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if let Some(at) = rest.get(..end).and_then(|host| host.rfind('@'))
        && let Some(colon) = rest.get(..at).and_then(|login| login.find(':'))
        && colon + 1 < at
    {
        ranges.push(start + colon + 1..start + at);
    }
    let Some(query) = text.find('?').map(|at| at + 1) else {
        return ranges;
    };
    let mut at = query;
    let parameters = text.get(query..).unwrap_or_default();
    for pair in parameters.split(['&', '#']) {
        if let Some((name, value)) = pair.split_once('=')
            && names_a_secret(name)
            && value.len() >= MIN_SECRET
        {
            let start = at + name.len() + 1;
            ranges.push(start..start + value.len());
        }
        at += pair.len() + 1;
    }
    ranges
}

/// The words for a secret's name.
fn hint(text: &str, place: SecretPlace<'_>, start: usize) -> String {
    let before = text.get(..start).unwrap_or_default();
    let words = match place {
        SecretPlace::Bearer => "token".to_owned(),
        SecretPlace::Named(name) if name.eq_ignore_ascii_case("authorization") => {
            "token".to_owned()
        }
        SecretPlace::Named(name) => slug(name),
        SecretPlace::Argument(flag) if is_command_line(flag, text) => command_hint(before),
        SecretPlace::Argument(flag) => match before.split_once(['=', ':']) {
            Some((name, _)) if !before.contains("://") => slug(name),
            None => slug(
                flag.filter(|flag| flag.starts_with('-'))
                    .unwrap_or_default(),
            ),
            Some(_) => String::new(),
        },
        SecretPlace::Url => match before.rsplit_once(['?', '&']) {
            Some((_, name)) => slug(name),
            None if before.contains("://") => "password".to_owned(),
            None => String::new(),
        },
    };
    match words.is_empty() {
        true if before.contains("://") => "password".to_owned(),
        true => "key".to_owned(),
        false => words,
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::SecretForm;
    use super::*;

    #[track_caller]
    fn check(place: SecretPlace<'_>, text: &str, expected: &str) {
        let value = mark_secrets(ImportValue::literal(text), place);
        let name = |_: &Secret, hint: &str| hint.to_owned();
        let written = value.written(&SecretForm::Reference(&name));
        assert_eq!(written.as_deref(), Some(expected), "{text}");
        let literal = value.written(&SecretForm::Literal);
        assert_eq!(literal.as_deref(), Some(text), "nothing is lost");
    }

    #[test]
    fn r_cfg_07_values_that_look_like_secrets_become_references() {
        use SecretPlace::{Argument, Bearer, Named, Url};
        check(Named("GITHUB_TOKEN"), "abcd1234", "${secret:github_token}");
        check(Named("MODE"), "abcd1234", "abcd1234");
        check(Named("X"), "ghp_canary0123456789", "${secret:x}");
        check(Named("X-Api-Key"), "canary", "${secret:x_api_key}");
        check(
            Named("Authorization"),
            "Bearer canary",
            "Bearer ${secret:token}",
        );
        check(Named("TOKEN_FILE"), "/run/token", "/run/token");
        check(Named("API_KEY"), "/run/token", "/run/token");
        check(Named("USE_TOKEN"), "true", "true");
        check(
            Named("DATABASE_URL"),
            "postgres://ann:canary@host/db",
            "postgres://ann:${secret:database_url}@host/db",
        );
        check(Bearer, "canary", "${secret:token}");
        check(Argument(Some("--token")), "canary", "${secret:token}");
        check(
            Argument(None),
            "--api-key=canary",
            "--api-key=${secret:api_key}",
        );
        check(
            Argument(Some("-e")),
            "API_TOKEN=canary",
            "API_TOKEN=${secret:api_token}",
        );
        check(
            Argument(Some("--header")),
            "Authorization: Bearer canary",
            "Authorization: Bearer ${secret:authorization}",
        );
        check(
            Argument(None),
            "db://ann:canary@localhost/app",
            "db://ann:${secret:password}@localhost/app",
        );
        check(Argument(None), "@scope/package", "@scope/package");
        check(
            Url,
            "https://host/mcp?a=1&api_key=canary#x",
            "https://host/mcp?a=1&api_key=${secret:api_key}#x",
        );
        check(Url, "https://host/mcp", "https://host/mcp");
    }

    #[test]
    fn r_cfg_07_a_secret_in_a_command_line_ends_at_a_quote_or_blank() {
        use SecretPlace::Argument;
        check(
            Argument(Some("-c")),
            "curl -H 'Authorization: Bearer canary'",
            "curl -H 'Authorization: Bearer ${secret:authorization}'",
        );
        check(
            Argument(Some("-c")),
            "curl -H \"Authorization: Bearer canary\" https://host/",
            "curl -H \"Authorization: Bearer ${secret:authorization}\" https://host/",
        );
        for before in [Some("-c"), None] {
            check(
                Argument(before),
                "API_KEY=canary exec srv --token canary2",
                "API_KEY=${secret:api_key} exec srv --token ${secret:token}",
            );
        }
        check(
            Argument(Some("-lc")),
            "API_KEY='canary two' srv --token $TOKEN_OF_IT",
            "API_KEY='${secret:api_key}' srv --token $TOKEN_OF_IT",
        );
        // One value with blanks stays whole.
        check(
            Argument(Some("--password")),
            "canary horse: battery",
            "${secret:password}",
        );
        check(
            Argument(Some("-e")),
            "API_KEY=canary two",
            "API_KEY=${secret:api_key}",
        );
    }
}
