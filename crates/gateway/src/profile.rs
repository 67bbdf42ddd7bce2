//! Profiles: which servers and tools a client sees, chosen by the URL or flag it connects with.

use std::borrow::Cow;

use pegboard_catalog::{Catalog, ToolView};
use pegboard_guard::matches_pattern;
use pegboard_model::ServerName;

/// Which tools `tools/list` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The meta tools and the pinned tools.
    #[default]
    Lazy,
    /// Every tool, without the meta tools.
    Direct,
    /// Every tool, and the meta tools.
    Both,
}

/// A configured view of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The servers in the profile, as names or patterns with `*`. Empty means all.
    pub servers: Vec<String>,
    /// Tools that are listed in every mode, as `server/tool`. Both parts may contain `*`.
    pub pinned: Vec<String>,
    /// Which tools are listed.
    pub mode: Mode,
    /// Whether exposed names have a server prefix. Only a profile with a single server may omit it.
    pub prefix: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            pinned: Vec::new(),
            mode: Mode::Lazy,
            prefix: true,
        }
    }
}

impl Profile {
    /// Whether the profile contains a server.
    pub(crate) fn holds(&self, server: &ServerName) -> bool {
        let named = |pattern: &String| matches_pattern(pattern, server.as_str());
        self.servers.is_empty() || self.servers.iter().any(named)
    }

    /// Whether the profile contains all configured servers.
    pub(crate) fn holds_all(&self) -> bool {
        self.servers.is_empty()
    }

    /// Whether the meta tools are offered.
    pub fn has_meta_tools(&self) -> bool {
        self.mode != Mode::Direct
    }

    /// Whether a tool is in the profile's `tools/list`.
    pub fn lists(&self, tool: &ToolView<'_>) -> bool {
        self.mode != Mode::Lazy || self.pins(tool)
    }

    /// Whether the list contains tools of servers.
    pub(crate) fn lists_servers(&self) -> bool {
        self.mode != Mode::Lazy || !self.pinned.is_empty()
    }

    /// Whether the handshake and the tool list do not depend on the catalog.
    pub(crate) fn is_fixed(&self) -> bool {
        !self.lists_servers() && self.sole_server().is_none()
    }

    /// The single server that the profile passes through without prefixes.
    pub(crate) fn sole_server(&self) -> Option<ServerName> {
        match (self.prefix, self.servers.as_slice()) {
            (false, [one]) => ServerName::parse(one).ok(),
            _ => None,
        }
    }

    /// A tool's name as the catalog knows it: with its server, if the profile lists it without.
    pub(crate) fn qualified<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match self.sole_server() {
            Some(server) => format!("{server}/{name}").into(),
            None => name.into(),
        }
    }

    /// The part of a catalog that the profile contains.
    pub(crate) fn restrict(&self, catalog: &Catalog) -> Catalog {
        catalog.only(|server| self.holds(server))
    }

    fn pins(&self, tool: &ToolView<'_>) -> bool {
        let server = tool.server().map_or("", ServerName::as_str);
        self.pinned
            .iter()
            .any(|pattern| match pattern.split_once('/') {
                Some((of, name)) => {
                    matches_pattern(of, server) && matches_pattern(name, tool.name())
                }
                None => matches_pattern(pattern, tool.exposed().as_str()),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(servers: &[&str], expected: &[(&str, bool)]) {
        let profile = Profile {
            servers: servers.iter().map(|s| (*s).to_owned()).collect(),
            ..Profile::default()
        };
        for (server, held) in expected {
            let server = ServerName::parse(server).unwrap();
            assert_eq!(profile.holds(&server), *held, "{servers:?} {server}");
        }
    }

    #[test]
    fn r_gate_02_a_profile_holds_servers_by_name_or_pattern() {
        check(&[], &[("github", true), ("x", true)]);
        check(&["github"], &[("github", true), ("github2", false)]);
        check(
            &["git*", "x"],
            &[
                ("github", true),
                ("gitlab", true),
                ("x", true),
                ("y", false),
            ],
        );
    }

    #[test]
    fn only_one_named_server_goes_without_a_prefix() {
        let sole = |prefix, servers: &[&str]| {
            let servers = servers.iter().map(|s| (*s).to_owned()).collect();
            let profile = Profile {
                servers,
                prefix,
                ..Profile::default()
            };
            profile.sole_server().map(|server| server.to_string())
        };
        assert_eq!(sole(false, &["a"]).as_deref(), Some("a"));
        assert_eq!(sole(true, &["a"]), None);
        assert_eq!(sole(false, &["a*"]), None);
        assert_eq!(sole(false, &["a", "b"]), None);
    }
}
