//! Names of servers as files have them.

use pegboard_model::{Reason, SERVER_NAME_MAX, ServerName};

/// What becomes of a written name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NameVerdict {
    /// It is a name.
    Good(ServerName),
    /// It is nearly one, and is used under its corrected form.
    Corrected(ServerName),
    /// The server is left out.
    Bad {
        reason: Reason,
        why: String,
        help: String,
    },
}

/// Judges a name. In files of other clients (`lenient`) a name may differ from ours by case, `-`, `.`
/// and spaces.
pub(crate) fn judge(text: &str, lenient: bool) -> NameVerdict {
    let bad = match ServerName::parse(text) {
        Ok(name) => return NameVerdict::Good(name),
        Err(bad) => bad,
    };
    let plain = text.trim().to_lowercase();
    let reserved = ServerName::is_reserved(&plain);
    if lenient
        && !reserved
        && is_nearly_a_name(text)
        && let Some(name) = same_letters(text)
    {
        return NameVerdict::Corrected(name);
    }
    let help = match &bad.corrected {
        Some(name) => format!("rename it to `{name}`"),
        None => "give it a name of a-z, 0-9 and single `_`".to_owned(),
    };
    if reserved {
        let why = format!("Pegboard keeps the name `{plain}` for itself");
        return NameVerdict::Bad {
            reason: Reason::ConfigNameReserved,
            why,
            help,
        };
    }
    NameVerdict::Bad {
        reason: Reason::ConfigName,
        why: format!("this is not a server name: {}", bad.why),
        help,
    }
}

fn is_nearly_a_name(text: &str) -> bool {
    text.len() <= SERVER_NAME_MAX
        && !text.contains("__")
        && !text.contains("..")
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b' '))
}

/// The corrected form, unless it had to be cut or lengthened.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, own: &str, foreign: &str) {
        let show = |lenient| match judge(text, lenient) {
            NameVerdict::Good(name) => name.to_string(),
            NameVerdict::Corrected(name) => format!("~{name}"),
            NameVerdict::Bad { reason, .. } => reason.code().to_owned(),
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
        for bad in [
            "a__b",
            "a/b",
            "nul\0",
            "../x",
            "a..b",
            "",
            "-",
            "日本",
            &"x".repeat(25),
            &"x".repeat(300),
        ] {
            check(bad, "CONFIG_NAME", "CONFIG_NAME");
        }
        check("abCdEfGhIjKlMnOpQrStUvWx", "CONFIG_NAME", "CONFIG_NAME");
        for reserved in ["gateway", "mcp", "system", "MCP"] {
            check(reserved, "CONFIG_NAME_RESERVED", "CONFIG_NAME_RESERVED");
        }
    }
}
