//! Detection of secrets in command-line arguments.

/// Parts of a flag's name that suggest a secret value.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "key",
    "passw",
    "passphrase",
    "pwd",
    "auth",
    "bearer",
    "credential",
    "env",
    "header",
    "cookie",
];

use crate::secret_patterns::find_secrets;

/// Parts of names that clearly mean a secret. `--env production` causes no warning, `--token x` does.
const CERTAIN_WORDS: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "bearer",
    "credential",
    "cookie",
    "apikey",
    "accesskey",
    "privatekey",
];

/// Whether the value of a flag or variable with this name may be a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// For each argument, whether it may contain a secret: `--token=x`, `x` in `--token x`, `Authorization: x`, a URL with
/// credentials, or anything that looks like a key.
pub fn secret_arguments<'a>(args: impl IntoIterator<Item = &'a str>) -> Vec<bool> {
    let mut after_flag = false;
    let is_secret = |arg: &str| {
        let name = name_in(arg);
        let names_secret = name.is_some_and(|(name, _)| is_secret_name(name));
        let is_flag = arg.starts_with('-') && !arg.contains('=');
        let flags_secret = is_flag && is_secret_name(arg);
        let secret =
            after_flag || names_secret || has_url_secret(arg) || !find_secrets(arg).is_empty();
        after_flag = flags_secret || (is_flag && arg == "-H");
        secret
    };
    args.into_iter().map(is_secret).collect()
}

/// Splits `--name=value`, `NAME=value` and `Name: value` into name and value.
fn name_in(arg: &str) -> Option<(&str, &str)> {
    if let Some((name, value)) = arg.split_once('=') {
        return Some((name.trim_start_matches('-'), value));
    }
    let (name, value) = arg.split_once(": ")?;
    let is_header = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    name.bytes().all(is_header).then_some((name, value))
}

/// The parts of an argument that may be secret on their own. A program may print only the token of `--token=…` or only
/// the password of a URL.
pub fn secret_parts(arg: &str) -> Vec<&str> {
    let mut parts = vec![arg];
    parts.extend(name_in(arg).map(|(_, value)| value));
    parts.extend(
        find_secrets(arg)
            .into_iter()
            .filter_map(|range| arg.get(range)),
    );
    parts.extend(login_of(arg).map(|(_, password)| password));
    parts
}

/// Returns the secret in an argument if it clearly contains one. `before` is the preceding argument. References and
/// names of files that contain a secret do not count.
pub fn plaintext_secret<'a>(before: Option<&str>, arg: &'a str) -> Option<&'a str> {
    if let Some(range) = find_secrets(arg).into_iter().next() {
        return arg.get(range);
    }
    if arg.contains("${") {
        return None;
    }
    if let Some((_, password)) = login_of(arg) {
        return Some(password);
    }
    let is_value = |value: &str| value.len() >= 6 && !value.starts_with(['/', '.', '~', '-']);
    if let Some((name, value)) = name_in(arg) {
        return (is_certain(name) && is_value(value)).then_some(value);
    }
    let follows =
        before.is_some_and(|flag| flag.starts_with('-') && !flag.contains('=') && is_certain(flag));
    (follows && is_value(arg)).then_some(arg)
}

/// Ends of names that say where a secret is or what kind it has, not what it is.
const PLACE_ENDS: &[&str] = &["file", "path", "dir", "url", "name", "id", "type"];

fn is_certain(name: &str) -> bool {
    plain_secret_name(name).is_some_and(|name| CERTAIN_WORDS.iter().any(|word| name.contains(word)))
}

/// Whether a variable, header or parameter of this name holds a secret.
pub fn names_a_secret(name: &str) -> bool {
    let ends = ["key", "pat", "auth", "authorization"];
    is_certain(name)
        || plain_secret_name(name).is_some_and(|name| ends.iter().any(|end| name.ends_with(end)))
}

/// A name in lower case without separators; `None` if it names the place of a secret.
fn plain_secret_name(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    let is_place = PLACE_ENDS.iter().any(|end| name.ends_with(end));
    (!is_place).then_some(name)
}

/// User and password of a URL.
fn login_of(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (login, _) = rest.get(..end)?.rsplit_once('@')?;
    login
        .split_once(':')
        .filter(|(_, password)| !password.is_empty())
}

/// Whether a text is a URL with a user, a password, a query or a fragment.
pub fn has_url_secret(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(_, rest)| rest.contains(['@', '?', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: &[bool]) {
        assert_eq!(secret_arguments(words.split(' ')), expected, "{words}");
    }

    #[test]
    fn r_cfg_08_values_of_secret_flags_and_urls_with_a_password_may_be_secret() {
        check("-y server@1.2.3 --port 80", &[false, false, false, false]);
        check("--api-key abc --port 80", &[false, true, false, false]);
        check("--token=abc x", &[true, false]);
        check("-e API_KEY=abc", &[false, true]);
        check("https://user:pass@host/ https://host/", &[true, false]);
        check(
            "ghp_0123456789abcdef --id=AKIAIOSFODNN7EXAMPLE",
            &[true, true],
        );
        check(
            "run sk-proj-abcdef1234567890 --pwd x",
            &[false, true, false, true],
        );
        let header = secret_arguments(["-H", "X: y", "Authorization: Bearer abc", "Note: x"]);
        assert_eq!(header, [false, true, true, false]);
    }

    #[test]
    fn r_cfg_08_parts_of_an_argument_may_be_secret_on_their_own() {
        assert_eq!(secret_parts("--token=abcdef"), ["--token=abcdef", "abcdef"]);
        assert_eq!(
            secret_parts("db://ann:canary@host/x"),
            ["db://ann:canary@host/x", "canary"]
        );
        assert!(secret_parts("use ghp_0123456789abcdef now").contains(&"ghp_0123456789abcdef"));
    }

    #[test]
    fn r_cfg_08_only_clear_secrets_are_reported() {
        for (before, arg, expected) in [
            (None, "--token=abcdef", Some("abcdef")),
            (Some("--api-key"), "abcdef", Some("abcdef")),
            (
                Some("-y"),
                "ghp_0123456789abcdef",
                Some("ghp_0123456789abcdef"),
            ),
            (
                None,
                "--id=AKIAIOSFODNN7EXAMPLE",
                Some("AKIAIOSFODNN7EXAMPLE"),
            ),
            (None, "db://ann:canary@host", Some("canary")),
            (None, "--token=${TOKEN}", None),
            (Some("--token"), "${secret:github}", None),
            (Some("--token-file"), "abcdef", None),
            (Some("--token"), "/run/secrets/x", None),
            (Some("--env"), "production", None),
            (Some("--port"), "808080", None),
        ] {
            assert_eq!(plaintext_secret(before, arg), expected, "{before:?} {arg}");
        }
    }
}
