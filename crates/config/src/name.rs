//! Server names as written in files.

use pegboard_model::{Reason, SERVER_NAME_MAX, ServerName};

use crate::problem::Problem;

/// The result of checking a written name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NameCheck {
    Valid(ServerName),
    /// Used under its corrected form.
    Corrected(ServerName),
    /// The server is rejected.
    Invalid {
        reason: Reason,
        why: String,
        help: String,
    },
}

/// Longest name in another client's file that is corrected.
const CLIENT_NAME_MAX: usize = 128;
/// Number of hexadecimal digits of the hash in a shortened name.
const HASH_LENGTH: usize = 6;

/// Checks a name. With `lenient` (other clients' files) a name may differ from a valid one in case, `-`, `.`, `/` and
/// spaces, and may be longer.
pub(crate) fn check_name(text: &str, lenient: bool) -> NameCheck {
    let bad = match ServerName::parse(text) {
        Ok(name) => return NameCheck::Valid(name),
        Err(bad) => bad,
    };
    let plain = text.trim().to_lowercase();
    let reserved = ServerName::is_reserved(&plain);
    if lenient
        && !reserved
        && is_correctable(text)
        && let Some(name) = same_letters(text).or_else(|| short_form(text))
    {
        return NameCheck::Corrected(name);
    }
    let help = match &bad.corrected {
        Some(name) => format!("rename it to `{name}`"),
        None => "give it a name of a-z, 0-9 and single `_`".to_owned(),
    };
    if reserved {
        let why = format!("the name `{plain}` is reserved");
        return NameCheck::Invalid {
            reason: Reason::ConfigNameReserved,
            why,
            help,
        };
    }
    NameCheck::Invalid {
        reason: Reason::ConfigName,
        why: format!("invalid server name: {}", bad.why),
        help,
    }
}

/// A server name as entered by a user, corrected if necessary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalizedName {
    /// The corrected name.
    pub name: ServerName,
    /// Whether the name differs from what was entered.
    pub is_corrected: bool,
}

impl NormalizedName {
    /// Corrects a name in the same way as names in other clients' files.
    ///
    /// # Errors
    /// Fails if the name is reserved or cannot be corrected unambiguously.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let (name, is_corrected) = match check_name(text, true) {
            NameCheck::Valid(name) => (name, false),
            NameCheck::Corrected(name) => (name, true),
            NameCheck::Invalid { reason, why, help } => {
                return Err(Problem::error(reason, why).help(help).of_server(text));
            }
        };
        Ok(Self { name, is_corrected })
    }
}

fn is_correctable(text: &str) -> bool {
    // Package names begin with `@`; names in the MCP registry contain one `/`.
    let parts: Vec<&str> = text.trim_start_matches('@').split('/').collect();
    let has_word = |part: &&str| part.contains(|c: char| c.is_ascii_alphanumeric());
    text.len() <= CLIENT_NAME_MAX
        && parts.len() <= 2
        && parts.iter().all(has_word)
        && !text.contains("__")
        && !text.contains("..")
        && text
            .strip_prefix('@')
            .unwrap_or(text)
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' ' | b'/'))
}

/// Returns the corrected form, unless it was shortened or extended.
fn same_letters(text: &str) -> Option<ServerName> {
    let letters = |text: &str| -> String {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect()
    };
    let corrected = ServerName::corrected(text)?;
    if letters(&corrected) != letters(text) {
        return None;
    }
    ServerName::parse(&corrected).ok()
}

/// Shortens a name that is too long: whole words and a hash of the full name, so that the result does not depend on
/// other servers. For a name such as `io.github.user/weather` the part after the `/` is used.
fn short_form(text: &str) -> Option<ServerName> {
    let last_part = text.rsplit('/').next().unwrap_or(text);
    let words = ServerName::corrected(last_part)?;
    let room = SERVER_NAME_MAX - HASH_LENGTH - 1;
    let kept = match words.get(..room) {
        // Drop a truncated word, unless it is the only one.
        Some(start) if words.len() > room && !words.get(room..)?.starts_with('_') => {
            start.rsplit_once('_').map_or(start, |(whole, _)| whole)
        }
        Some(start) => start,
        None => &words,
    };
    let hash = blake3::hash(text.as_bytes()).to_hex();
    let name = format!(
        "{}_{}",
        kept.trim_end_matches('_'),
        hash.get(..HASH_LENGTH)?
    );
    ServerName::parse(&name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, own: &str, foreign: &str) {
        let show = |lenient| match check_name(text, lenient) {
            NameCheck::Valid(name) => name.to_string(),
            NameCheck::Corrected(name) => format!("~{name}"),
            NameCheck::Invalid { reason, .. } => reason.code().to_owned(),
        };
        assert_eq!(
            (show(false).as_str(), show(true).as_str()),
            (own, foreign),
            "{text:?}"
        );
    }

    #[test]
    fn r_cfg_05_names_of_other_clients_are_corrected_where_that_is_harmless() {
        check("github", "github", "github");
        check("brave-search", "CONFIG_NAME", "~brave_search");
        check("GitHub", "CONFIG_NAME", "~git_hub");
        check("My Server.v2", "CONFIG_NAME", "~my_server_v2");
        check("a/b", "CONFIG_NAME", "~a_b");
        check(
            "io.github.user/weather",
            "CONFIG_NAME",
            "~io_github_user_weather",
        );
        for bad in [
            "a__b",
            "a/b/c",
            "/b",
            "nul\0",
            "../x",
            "a..b",
            "",
            "-",
            "日本",
            &"x".repeat(300),
        ] {
            check(bad, "CONFIG_NAME", "CONFIG_NAME");
        }
        for reserved in ["gateway", "mcp", "system", "MCP"] {
            check(reserved, "CONFIG_NAME_RESERVED", "CONFIG_NAME_RESERVED");
        }
    }

    #[track_caller]
    fn check_short(text: &str, start: &str) {
        let NameCheck::Corrected(name) = check_name(text, true) else {
            panic!("`{text}` is not corrected");
        };
        let (words, hash) = name.as_str().rsplit_once('_').unwrap();
        assert_eq!(words, start, "{name}");
        assert!(hash.bytes().all(|b| b.is_ascii_hexdigit()), "{name}");
        assert_eq!(check_name(text, true), NameCheck::Corrected(name), "stable");
        assert!(matches!(check_name(text, false), NameCheck::Invalid { .. }));
    }

    #[test]
    fn r_cfg_05_long_names_of_other_clients_get_a_stable_short_form() {
        check_short("io.github.modelcontextprotocol/everything", "everything");
        check_short(
            "@modelcontextprotocol/server-sequential-thinking",
            "server_sequential",
        );
        check_short(
            "my-very-long-name-of-a-server-for-things",
            "my_very_long_name",
        );
        check_short("abCdEfGhIjKlMnOpQrStUvWx", "ab_cd_ef_gh_ij_kl");
        check_short(&"x".repeat(25), &"x".repeat(17));
        let [one, other] =
            ["a", "b"].map(|end| check_name(&format!("{}{end}", "word-".repeat(6)), true));
        assert_ne!(one, other);
    }
}
