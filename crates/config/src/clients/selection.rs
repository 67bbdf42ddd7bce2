//! Which servers of a plan are imported.

use std::collections::BTreeSet;

use super::plan::ImportServer;
use super::table::FileScope;

/// The servers to import. The default selects all servers of the user.
///
/// A project's servers come from a folder that someone else may have written. They are selected only if they, their
/// client or all project servers are named.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Keys of clients. Empty: all clients.
    pub clients: Vec<String>,
    /// Names of servers, in Pegboard or in the clients' files. Empty: all servers.
    pub servers: Vec<String>,
    /// Whether all servers of the project are selected too.
    pub project_servers: bool,
    /// Exactly the servers with these names in Pegboard, whatever the other fields say. A name in `servers` also
    /// selects servers that other files define under it.
    pub exact: Option<BTreeSet<String>>,
}

impl Selection {
    /// Whether a server is selected.
    pub fn contains(&self, server: &ImportServer) -> bool {
        if self.exact.is_some() {
            return self.names(server);
        }
        let client = self.has_client(server);
        let name = self.names(server);
        let is_named = (!self.clients.is_empty() && client) || (!self.servers.is_empty() && name);
        let is_chosen = server.scope == FileScope::User || self.project_servers || is_named;
        is_chosen && (self.clients.is_empty() || client) && (self.servers.is_empty() || name)
    }

    fn has_client(&self, server: &ImportServer) -> bool {
        let mut sources = server.sources.iter();
        sources.any(|source| self.clients.iter().any(|client| client == source.client))
    }

    /// Whether a server is selected by its name.
    pub fn names(&self, server: &ImportServer) -> bool {
        if let Some(exact) = &self.exact {
            let name = server.name.as_ref();
            return name.is_some_and(|name| exact.contains(name.as_str()));
        }
        self.servers.iter().any(|wanted| {
            let name = server.name.iter().chain(&server.existing);
            name.map(|name| name.as_str()).any(|name| name == wanted)
                || server.sources.iter().any(|source| source.name == *wanted)
        })
    }
}
