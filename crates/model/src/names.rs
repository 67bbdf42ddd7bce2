//! Names of servers and tools, and the only parser for tool names that users and models write.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Separates the server name from the tool name in an exposed name.
pub const SEPARATOR: &str = "__";
/// Maximum length of a server name. With the separator it leaves 38 of the providers' 64 characters to the tool.
pub const SERVER_NAME_MAX: usize = 24;
/// Maximum length of a tool name, as the protocol recommends.
pub const TOOL_NAME_MAX: usize = 128;
/// Maximum length of a tool name that every model provider accepts.
pub const EXPOSED_NAME_MAX: usize = 64;
/// Server names that could be confused with parts of Pegboard.
pub const RESERVED_SERVER_NAMES: &[&str] =
    &["gateway", "mcp", "native", "pegboard", "static", "system"];

const ALIAS_HASH_LENGTH: usize = 6;

/// The name of a configured server: `[a-z0-9]` words joined by single underscores, at most 24 characters.
///
/// It never contains `__`, so the first `__` of an exposed name always ends the server name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ServerName(String);

/// The error of [`ServerName::parse`], with the nearest valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a server name: {why}{}", self.hint())]
pub struct InvalidServerName {
    /// The rejected text, escaped and shortened for display.
    pub given: String,
    /// The rule that the text breaks.
    pub why: &'static str,
    /// The nearest valid name, if one can be derived.
    pub corrected: Option<String>,
}

impl InvalidServerName {
    fn hint(&self) -> String {
        match &self.corrected {
            Some(name) => format!("; write `{name}`"),
            None => String::new(),
        }
    }
}

impl ServerName {
    /// Parses a server name.
    ///
    /// # Errors
    ///
    /// Returns the broken rule and the nearest valid name.
    pub fn parse(text: &str) -> Result<Self, InvalidServerName> {
        match broken_rule(text) {
            None => Ok(Self(text.to_owned())),
            Some(why) => Err(InvalidServerName {
                given: crate::UntrustedText::new(text).shortened(60).to_string(),
                why,
                corrected: Self::corrected(text),
            }),
        }
    }

    /// Returns the nearest valid name: lower case, each run of other characters replaced by one underscore, shortened.
    /// `None` if nothing valid is left.
    pub fn corrected(text: &str) -> Option<String> {
        let mut name = String::new();
        let mut previous_lower = false;
        for character in text.chars() {
            if character.is_ascii_alphanumeric() {
                if character.is_ascii_uppercase() && previous_lower {
                    name.push('_');
                }
                name.push(character.to_ascii_lowercase());
                previous_lower = character.is_ascii_lowercase() || character.is_ascii_digit();
            } else {
                if !name.is_empty() && !name.ends_with('_') {
                    name.push('_');
                }
                previous_lower = false;
            }
        }
        name.truncate(SERVER_NAME_MAX);
        let mut name = name.trim_end_matches('_').to_owned();
        if RESERVED_SERVER_NAMES.contains(&name.as_str()) {
            name.push_str("_server");
        }
        broken_rule(&name).is_none().then_some(name)
    }

    /// Whether a name is in [`RESERVED_SERVER_NAMES`].
    pub fn is_reserved(text: &str) -> bool {
        RESERVED_SERVER_NAMES.contains(&text)
    }

    /// The name as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn broken_rule(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if !text
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    {
        return Some("only a-z, 0-9 and _ are allowed");
    }
    if text.contains(SEPARATOR) {
        return Some("`__` separates a server from its tools");
    }
    if text.starts_with('_') || text.ends_with('_') {
        return Some("it starts or ends with _");
    }
    if text.len() > SERVER_NAME_MAX {
        return Some("it is longer than 24 characters");
    }
    if ServerName::is_reserved(text) {
        return Some("the name is reserved");
    }
    None
}

impl<'de> Deserialize<'de> for ServerName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ServerName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Identifies a tool by its server and the name that the server uses for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolId {
    /// The configured server.
    pub server: ServerName,
    /// The tool name exactly as the server sent it.
    pub tool: String,
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}",
            self.server,
            crate::UntrustedText::new(&self.tool)
        )
    }
}

/// The name under which a model sees a tool: `^[A-Za-z0-9_-]{1,64}$`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ExposedName(String);

impl ExposedName {
    /// The exposed name of a server's tool: `server__tool` if that fits the providers' limits, otherwise a shortened
    /// form that ends in a hash of the full name. The result is the same on every machine.
    pub fn of(server: &ServerName, tool: &str) -> Self {
        let plain = format!("{server}{SEPARATOR}{tool}");
        if is_exposable(&plain) && !tool.is_empty() {
            return Self(plain);
        }
        let hash = blake3::hash(plain.as_bytes()).to_hex();
        let hash = hash.as_str().get(..ALIAS_HASH_LENGTH).unwrap_or_default();
        let room = EXPOSED_NAME_MAX - server.0.len() - SEPARATOR.len() - ALIAS_HASH_LENGTH - 1;
        let kept: String = tool
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .take(room)
            .collect();
        Self(format!("{server}{SEPARATOR}{kept}_{hash}"))
    }

    /// Parses the name of a tool that the host program registers. `None` if providers would reject it.
    pub fn parse(text: &str) -> Option<Self> {
        is_exposable(text).then(|| Self(text.to_owned()))
    }

    /// The name as a string slice.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_exposable(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= EXPOSED_NAME_MAX
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

impl<'de> Deserialize<'de> for ExposedName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not an exposed tool name"))
    }
}

impl fmt::Display for ExposedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ExposedName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ExposedName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A tool name as a user or model wrote it: `server__tool`, `server/tool`, or a bare name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolRef<'a> {
    /// A name with a server part.
    Qualified {
        /// The server part.
        server: ServerName,
        /// The text after the separator: the server's own tool name, or the rest of an exposed name.
        tool: &'a str,
    },
    /// A name without a server.
    Bare(&'a str),
}

impl<'a> ToolRef<'a> {
    /// Parses a name. The first `__` or `/` after a valid server name ends the server part; later ones belong to the
    /// tool. Returns `None` if either side is empty, as in `__tool` and `server__`.
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let split = match (text.find(SEPARATOR), text.find('/')) {
            (Some(a), Some(b)) if b < a => Some((b, 1)),
            (Some(a), _) => Some((a, SEPARATOR.len())),
            (None, Some(b)) => Some((b, 1)),
            (None, None) => None,
        };
        let Some((at, width)) = split else {
            return (!text.is_empty()).then_some(Self::Bare(text));
        };
        let (server, tool) = (text.get(..at)?, text.get(at + width..)?);
        if server.is_empty() || tool.is_empty() {
            return None;
        }
        match ServerName::parse(server) {
            Ok(server) => Some(Self::Qualified { server, tool }),
            Err(_) => Some(Self::Bare(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_server(text: &str, expected: Result<(), Option<&str>>) {
        let got = ServerName::parse(text).map(drop).map_err(|e| e.corrected);
        assert_eq!(got, expected.map_err(|c| c.map(str::to_owned)), "{text:?}");
    }

    #[test]
    fn r_cfg_05_server_names_are_snake_case_and_the_corrected_form_is_given() {
        check_server("github", Ok(()));
        check_server("brave_search_2", Ok(()));
        check_server("brave-search", Err(Some("brave_search")));
        check_server("GitHub", Err(Some("git_hub")));
        check_server("a__b", Err(Some("a_b")));
        check_server("../etc", Err(Some("etc")));
        check_server("mcp", Err(Some("mcp_server")));
        check_server("", Err(None));
        check_server("日本", Err(None));
        check_server(&"x".repeat(300), Err(Some(&"x".repeat(24))));
        check_server("nul\0byte", Err(Some("nul_byte")));
    }

    #[track_caller]
    fn check_ref(text: &str, expected: Option<(&str, &str)>) {
        let got = ToolRef::parse(text);
        let got = got.as_ref().map(|r| match r {
            ToolRef::Qualified { server, tool } => (server.as_str(), *tool),
            ToolRef::Bare(tool) => ("", *tool),
        });
        assert_eq!(got, expected, "{text:?}");
    }

    #[test]
    fn r_reg_02_one_parser_splits_at_the_first_separator() {
        check_ref("github__close_issue", Some(("github", "close_issue")));
        check_ref("github/close_issue", Some(("github", "close_issue")));
        check_ref("a__b__c", Some(("a", "b__c")));
        check_ref("node____node_version", Some(("node", "__node_version")));
        check_ref("a___b", Some(("a", "_b")));
        check_ref("echo", Some(("", "echo")));
        check_ref("files/a__b", Some(("files", "a__b")));
        check_ref("__tool", None);
        check_ref("server__", None);
        check_ref("/tool", None);
        check_ref("server/", None);
        check_ref("  ", None);
    }

    #[test]
    fn r_reg_08_names_that_do_not_fit_get_a_stable_alias() {
        let server = ServerName::parse("files").unwrap();
        assert_eq!(ExposedName::of(&server, "read").as_str(), "files__read");
        let dotted = ExposedName::of(&server, "fs.read");
        assert!(dotted.as_str().starts_with("files__fs_read_"), "{dotted}");
        assert_ne!(dotted, ExposedName::of(&server, "fs/read"));
        assert!(ExposedName::of(&server, &"x".repeat(128)).as_str().len() <= EXPOSED_NAME_MAX);
    }

    proptest! {
        #[test]
        fn r_reg_02_every_exposed_name_leads_back_to_its_server(
            server in "[a-z0-9]{1,8}(_[a-z0-9]{1,7}){0,2}", tool in "\\PC{1,140}",
        ) {
            let Ok(server) = ServerName::parse(&server) else { return Ok(()) };
            let exposed = ExposedName::of(&server, &tool);
            prop_assert!(ExposedName::parse(exposed.as_str()).is_some());
            match ToolRef::parse(exposed.as_str()) {
                Some(ToolRef::Qualified { server: found, .. }) => prop_assert_eq!(found, server),
                other => prop_assert!(false, "{:?}", other),
            }
        }

        #[test]
        fn corrected_names_are_legal(text in "\\PC{0,60}") {
            if let Some(name) = ServerName::corrected(&text) {
                prop_assert!(ServerName::parse(&name).is_ok());
            }
        }
    }
}
