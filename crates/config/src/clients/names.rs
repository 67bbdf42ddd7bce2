//! Names of imported servers and secrets: stable, and unique in the configuration.

use std::collections::{BTreeMap, BTreeSet};

use pegboard_model::{SERVER_NAME_MAX, Secret, ServerName};

use super::identity::StoredValues;
use super::value::slug;
use crate::name::{NameCheck, check_name};

/// The names that are taken.
pub(super) struct ServerNames {
    configured: BTreeSet<String>,
    given: BTreeSet<String>,
}

/// A name for a server.
pub(super) struct GivenName {
    pub(super) name: ServerName,
    /// Whether the configuration has another server of the original name.
    pub(super) differs: bool,
}

impl ServerNames {
    pub(super) fn new(configured: impl Iterator<Item = String>) -> Self {
        Self {
            configured: configured.collect(),
            given: BTreeSet::new(),
        }
    }

    /// Returns a free name: the corrected original, else with the client's name, else with a number. The same files
    /// and configuration always lead to the same names.
    pub(super) fn give(&mut self, original: &str, client: &str) -> Option<GivenName> {
        let base = corrected(original)?;
        let is_free = |name: &ServerName| {
            !self.configured.contains(name.as_str()) && !self.given.contains(name.as_str())
        };
        let differs = self.configured.contains(base.as_str());
        let with_client = || joined(base.as_str(), &slug(client));
        let numbered = (2..=MAX_NUMBER).filter_map(|number| {
            let name = format!("{}_{number}", slug(client));
            joined(base.as_str(), &name)
        });
        let mut candidates = std::iter::once(base.clone())
            .chain(with_client())
            .chain(numbered);
        let name = candidates.find(is_free)?;
        self.given.insert(name.to_string());
        Some(GivenName { name, differs })
    }
}

/// Largest number at the end of a name.
const MAX_NUMBER: usize = 1_000;

/// Returns the valid form of a name in a client's file.
fn corrected(original: &str) -> Option<ServerName> {
    match check_name(original, true) {
        NameCheck::Valid(name) | NameCheck::Corrected(name) => Some(name),
        NameCheck::Invalid { .. } => ServerName::parse(&ServerName::corrected(original)?).ok(),
    }
}

/// Joins two names. If that is too long, the first one is shortened.
fn joined(base: &str, end: &str) -> Option<ServerName> {
    let end: String = end.chars().take(MAX_CLIENT).collect();
    let end = end.trim_end_matches('_');
    let room = SERVER_NAME_MAX - end.len() - 1;
    let start = base.get(..room.min(base.len()))?.trim_end_matches('_');
    ServerName::parse(&format!("{start}_{end}")).ok()
}

/// Longest part of a name that comes from the client.
const MAX_CLIENT: usize = 16;

/// The names of secrets: those in the store, and those that the import will add.
pub(super) struct SecretNames<'a> {
    stored: BTreeSet<String>,
    values: StoredValues<'a>,
    given: BTreeMap<String, Secret>,
    /// Names of secrets that the user sets.
    reserved: BTreeSet<String>,
}

impl<'a> SecretNames<'a> {
    pub(super) fn new(stored: BTreeSet<String>, values: StoredValues<'a>) -> Self {
        Self {
            stored,
            values,
            given: BTreeMap::new(),
            reserved: BTreeSet::new(),
        }
    }

    /// Returns a name for a secret of a server. A secret that has the name and the value already is used again.
    pub(super) fn give(
        &mut self,
        server: &ServerName,
        hint: &str,
        secret: &Secret,
    ) -> Option<String> {
        let server = server.as_str();
        let is_specific = hint.split('_').any(|word| !GENERAL_WORDS.contains(&word));
        let base = match is_specific {
            true => hint.to_owned(),
            false => format!("{server}_{hint}"),
        };
        let base: String = base.chars().take(MAX_SECRET_NAME).collect();
        let numbered = (2..=MAX_NUMBER).map(|number| format!("{base}_{number}"));
        let mut candidates = std::iter::once(base.clone()).chain(numbered);
        let name = candidates.find(|name| match self.given.get(name) {
            Some(given) => given == secret,
            None if self.reserved.contains(name) => false,
            None if self.stored.contains(name) => self.values.get(name) == Some(secret.reveal()),
            None => true,
        })?;
        self.given.insert(name.clone(), secret.clone());
        Some(name)
    }

    /// Whether the store has a secret of this name.
    pub(super) fn is_stored(&self, name: &str) -> bool {
        self.stored.contains(name)
    }

    /// Keeps a name for a secret that the user sets.
    pub(super) fn reserve(&mut self, name: &str) {
        self.reserved.insert(name.to_owned());
    }
}

/// Words that do not tell which service a secret is for.
const GENERAL_WORDS: &[&str] = &[
    "access",
    "api",
    "auth",
    "authorization",
    "bearer",
    "client",
    "env",
    "file",
    "header",
    "key",
    "pass",
    "password",
    "personal",
    "private",
    "secret",
    "token",
    "x",
];

/// Longest name of a secret without its number.
const MAX_SECRET_NAME: usize = 58;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_07_different_servers_of_one_name_get_stable_names() {
        let mut names = ServerNames::new(["github".to_owned()].into_iter());
        let mut give = |name: &str, client: &str| {
            let given = names.give(name, client)?;
            Some(format!("{} {}", given.name, given.differs))
        };
        assert_eq!(give("GitHub", "cursor").unwrap(), "git_hub false");
        assert_eq!(give("github", "cursor").unwrap(), "github_cursor true");
        assert_eq!(give("github", "cursor").unwrap(), "github_cursor_2 true");
        assert_eq!(give("a__b", "zed").unwrap(), "a_b false");
        assert_eq!(give("mcp", "zed").unwrap(), "mcp_server false");
        assert_eq!(give("x", "zed").unwrap(), "x false");
        assert_eq!(give("x", "claude-code").unwrap(), "x_claude_code false");
        let long = "sequential_thinking_abcd";
        assert_eq!(give(long, "zed").unwrap(), format!("{long} false"));
        let shortened = give(long, "claude-desktop").unwrap();
        assert_eq!(shortened, "sequentia_claude_desktop false");
        assert_eq!(give("日本", "zed"), None);
    }
}
