//! Parses `WWW-Authenticate` (RFC 9110, section 11): several challenges in one or more headers.

use hyper::HeaderMap;
use hyper::header::WWW_AUTHENTICATE;

/// Bytes of all `WWW-Authenticate` headers that are read.
const MAX_BYTES: usize = 16 * 1024;
/// The most challenges and parameters that are kept.
const MAX_PARTS: usize = 64;

/// One challenge: a scheme with its parameters. Parameter names are in lower case.
#[derive(Debug, PartialEq, Eq)]
struct Challenge {
    scheme: String,
    parameters: Vec<(String, String)>,
}

/// What a server says about the login that it requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// The URL of its protected-resource metadata.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub(crate) scope: Option<String>,
    /// The error code, such as `invalid_token`.
    pub(crate) error: Option<String>,
}

impl BearerChallenge {
    /// Reads the challenges of a response. Returns `None` if there is none for bearer tokens.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut left = MAX_BYTES;
        let mut challenges = Vec::new();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            let Ok(text) = value.to_str() else { continue };
            if text.len() > left {
                break;
            }
            left -= text.len();
            challenges.extend(parse(text));
        }
        let mut bearer = challenges.into_iter().filter(|challenge| {
            let scheme = &challenge.scheme;
            scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("dpop")
        });
        let first = bearer.next()?;
        // A server may name the metadata in one challenge and the scope in another.
        let parameters: Vec<_> = first
            .parameters
            .into_iter()
            .chain(bearer.flat_map(|challenge| challenge.parameters))
            .collect();
        let find = |name: &str| {
            let found = parameters.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        };
        Some(Self {
            resource_metadata: find("resource_metadata"),
            scope: find("scope").filter(|scope| !scope.trim().is_empty()),
            error: find("error"),
        })
    }

    /// Whether the server requires more scopes than the token has.
    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// The required scopes.
    pub(crate) fn scopes(&self) -> Vec<String> {
        split_scopes(self.scope.as_deref().unwrap_or_default())
    }
}

/// The most scopes that are taken from anything a server sends.
pub(crate) const MAX_SCOPES: usize = 128;

/// Splits a scope string. Characters that no scope contains are left out, so that scopes can be shown and stored.
pub(crate) fn split_scopes(text: &str) -> Vec<String> {
    let is_scope = |scope: &&str| {
        let mut bytes = scope.bytes();
        scope.len() <= 256 && bytes.all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
    };
    let mut scopes = Vec::new();
    for scope in text
        .split_ascii_whitespace()
        .filter(is_scope)
        .take(MAX_SCOPES)
    {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

fn parse(text: &str) -> Vec<Challenge> {
    let mut scanner = Scanner(text);
    let mut challenges: Vec<Challenge> = Vec::new();
    let mut parts = 0;
    while parts < MAX_PARTS {
        parts += 1;
        scanner.skip(|c| c == ',' || c.is_ascii_whitespace());
        let word = scanner.token();
        if word.is_empty() {
            // Not a token: skip the character, or end.
            if !scanner.advance() {
                break;
            }
            continue;
        }
        let had_space = scanner.skip(|c| c == ' ' || c == '\t');
        let parameter = match scanner.assignment() {
            // `scheme token68=`: padding, not a parameter.
            true => scanner
                .value()
                .map(|value| (word.to_ascii_lowercase(), value)),
            false => None,
        };
        match (parameter, challenges.last_mut()) {
            (Some(parameter), Some(challenge)) => challenge.parameters.push(parameter),
            (Some(_), None) => {}
            (None, _) => {
                challenges.push(Challenge {
                    scheme: word.to_owned(),
                    parameters: Vec::new(),
                });
                if had_space {
                    scanner.skip_token68();
                }
            }
        }
    }
    challenges
}

struct Scanner<'a>(&'a str);

impl<'a> Scanner<'a> {
    /// Skips characters. Returns whether there were any.
    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) -> bool {
        let rest = self.0.trim_start_matches(is_skipped);
        let any = rest.len() < self.0.len();
        self.0 = rest;
        any
    }

    fn advance(&mut self) -> bool {
        let mut characters = self.0.chars();
        let any = characters.next().is_some();
        self.0 = characters.as_str();
        any
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.0.split_at_checked(length).unwrap_or((self.0, ""));
        self.0 = rest;
        taken
    }

    fn token(&mut self) -> &'a str {
        let end = self.0.find(|c: char| !is_token_character(c));
        self.take(end.unwrap_or(self.0.len()))
    }

    /// Takes `=` with the white space around it, if a value follows.
    fn assignment(&mut self) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let Some(after) = rest.strip_prefix('=') else {
            return false;
        };
        let after = after.trim_start_matches([' ', '\t']);
        if after.is_empty() || after.starts_with([',', '=']) {
            return false;
        }
        self.0 = after;
        true
    }

    /// Takes a quoted string, or everything up to a comma or white space: URLs are often not quoted.
    fn value(&mut self) -> Option<String> {
        if !self.0.starts_with('"') {
            let end = self.0.find(|c: char| c == ',' || c.is_ascii_whitespace());
            return Some(self.take(end.unwrap_or(self.0.len())).to_owned());
        }
        let mut value = String::new();
        let mut characters = self.0.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.take(at + 1);
                    return Some(value);
                }
                '\\' => value.extend(characters.next().map(|(_, character)| character)),
                other => value.push(other),
            }
        }
        // Unterminated: nothing of it is used.
        self.0 = "";
        None
    }

    /// Skips the credentials of a scheme such as `Negotiate abc==`.
    fn skip_token68(&mut self) {
        let end = self.0.find([',', ' ']).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at_checked(end).unwrap_or((self.0, ""));
        let body = word.trim_end_matches('=');
        if !body.is_empty() && !body.contains(['=', '"']) && !rest.trim_start().starts_with('=') {
            self.0 = rest;
        }
    }
}

fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn read(values: &[&str]) -> Option<BearerChallenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(value).unwrap());
        }
        BearerChallenge::of(&headers)
    }

    #[track_caller]
    fn check(values: &[&str], metadata: Option<&str>, scope: Option<&str>, error: Option<&str>) {
        let expected = BearerChallenge {
            resource_metadata: metadata.map(str::to_owned),
            scope: scope.map(str::to_owned),
            error: error.map(str::to_owned),
        };
        assert_eq!(read(values), Some(expected), "{values:?}");
    }

    #[test]
    fn r_auth_01_challenges_are_read_by_their_grammar() {
        let url = "https://a.example/.well-known/oauth-protected-resource";
        check(&["Bearer"], None, None, None);
        check(&["bearer  "], None, None, None);
        check(
            &[&format!(
                r#"Bearer resource_metadata="{url}", scope="a b",error="invalid_token""#
            )],
            Some(url),
            Some("a b"),
            Some("invalid_token"),
        );
        // Unquoted, other case, white space around the equals sign.
        check(
            &[&format!("Bearer Resource_Metadata = {url} , scope=a")],
            Some(url),
            Some("a"),
            None,
        );
        // Several challenges, in one header and in two.
        check(
            &[&format!(
                r#"Basic realm="x, Bearer y", Bearer resource_metadata="{url}""#
            )],
            Some(url),
            None,
            None,
        );
        check(
            &["Negotiate abc==", r#"Bearer scope="s""#],
            None,
            Some("s"),
            None,
        );
        check(
            &[r#"Negotiate abc==, Bearer scope="s""#],
            None,
            Some("s"),
            None,
        );
        check(
            &[r#"Bearer error="x", Basic realm="y", scope="of basic""#],
            None,
            None,
            Some("x"),
        );
        // Escapes inside quotes, and an unterminated quote.
        check(
            &[r#"Bearer scope="a\"b", error="e""#],
            None,
            Some("a\"b"),
            Some("e"),
        );
        check(
            &[r#"Bearer error="e", scope="never ends"#],
            None,
            None,
            Some("e"),
        );
        check(&[r#"Bearer scope="", error=e"#], None, None, Some("e"));
        assert_eq!(read(&["Basic realm=\"x\""]), None);
        assert_eq!(read(&[]), None);
        assert_eq!(
            read(&[&format!("Bearer scope=\"{}\"", "x".repeat(MAX_BYTES))]),
            None
        );
    }

    #[test]
    fn r_auth_01_no_header_text_makes_the_parser_panic_or_loop() {
        for text in [
            "=",
            ",,,,",
            "\"",
            "Bearer ====",
            "Bearer a=\"\\",
            "é",
            "Bearer a==b, =c",
            &", ".repeat(5000),
        ] {
            let _ = parse(text);
        }
    }

    #[test]
    fn scopes_are_split_without_duplicates_and_strange_characters() {
        assert_eq!(split_scopes("a  b a \u{1b}c d\"e"), ["a", "b"]);
        assert_eq!(split_scopes(&"x ".repeat(9)).len(), 1);
    }
}
