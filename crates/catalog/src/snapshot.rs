//! The catalog snapshot.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use pegboard_guard::{PolicySubject, effective_policy};
use pegboard_model::{ExposedName, GlobalRules, Reason, SEPARATOR, ServerName, ToolError};

use crate::conflict::Conflict;
use crate::delta::Delta;
use crate::entry::ServerEntry;
use crate::search::LazyIndex;
use crate::static_tool::StaticTool;
use crate::view::ToolView;

/// All known servers and tools at one moment. Cloning it, or deriving a changed copy, copies one pointer per
/// server, however many tools there are.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Sorted by name.
    servers: Vec<Arc<ServerEntry>>,
    statics: Arc<BTreeMap<ExposedName, Arc<StaticTool>>>,
    lazy_index: LazyIndex,
}

impl Catalog {
    /// Returns a catalog with this entry in place of the server's previous one, and the changes to its tools.
    pub fn with_server(&self, mut entry: ServerEntry) -> (Self, Delta) {
        let mut servers = self.servers.clone();
        let place = servers.binary_search_by(|held| held.name().cmp(entry.name()));
        let mut lazy_index = LazyIndex::default();
        if let Some(held) = place.ok().and_then(|at| servers.get(at)) {
            entry.reuse_search_data(held);
            if Arc::ptr_eq(&held.search_data, &entry.search_data) {
                lazy_index = self.lazy_index.clone();
            }
        }
        let entry = Arc::new(entry);
        let delta = match place.ok().and_then(|at| servers.get_mut(at)) {
            Some(held) => {
                let delta = Delta::between(&held.record.tools, &entry.record.tools);
                *held = entry;
                delta
            }
            None => {
                let delta = Delta::between(&[], &entry.record.tools);
                servers.insert(place.unwrap_or_else(|at| at), entry);
                delta
            }
        };
        let next = Self {
            lazy_index,
            ..self.with_servers(servers)
        };
        (next, delta)
    }

    /// Returns a catalog without a server, and the number of offered tools that were removed.
    pub fn without_server(&self, server: &ServerName) -> (Self, usize) {
        let entry = self.server(server);
        let removed = entry.map_or(0, |entry| self.offered_by(entry));
        (self.only(|name| name != server), removed)
    }

    /// Returns a catalog with only the servers for which `keep` returns true. Static tools stay.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&ServerName) -> bool) -> Self {
        let kept = self.servers.iter().filter(|entry| keep(entry.name()));
        self.with_servers(kept.cloned().collect())
    }

    /// Returns a catalog with one more static tool, which hides a server's tool of the same exposed name.
    ///
    /// # Errors
    ///
    /// Fails with `NAME_RESERVED` if a static tool has this name already.
    pub fn with_static(&self, tool: StaticTool) -> Result<Self, ToolError> {
        if self.statics.contains_key(&tool.name) {
            let message = format!("a static tool `{}` is already registered", tool.name);
            return Err(ToolError::new(Reason::NameReserved, message).at_tool(tool.name.as_str()));
        }
        let mut statics = (*self.statics).clone();
        statics.insert(tool.name.clone(), Arc::new(tool));
        Ok(self.with_statics(statics))
    }

    /// Returns a catalog in which these policy rules apply to the static tools. Servers carry their own rules.
    #[must_use]
    pub fn with_rules(&self, rules: &GlobalRules) -> Self {
        let ruled = |tool: &Arc<StaticTool>| {
            let policy = effective_policy(PolicySubject::of_host(tool.name.as_str(), rules)).policy;
            match policy == tool.policy {
                true => tool.clone(),
                false => Arc::new(StaticTool {
                    policy,
                    ..(**tool).clone()
                }),
            }
        };
        let statics = self.statics.iter();
        let statics = statics.map(|(name, tool)| (name.clone(), ruled(tool)));
        self.with_statics(statics.collect())
    }

    fn with_servers(&self, servers: Vec<Arc<ServerEntry>>) -> Self {
        Self {
            servers,
            statics: self.statics.clone(),
            lazy_index: LazyIndex::default(),
        }
    }

    fn with_statics(&self, statics: BTreeMap<ExposedName, Arc<StaticTool>>) -> Self {
        Self {
            servers: self.servers.clone(),
            statics: Arc::new(statics),
            lazy_index: LazyIndex::default(),
        }
    }

    /// Returns the entry of a server.
    pub fn server(&self, name: &ServerName) -> Option<&Arc<ServerEntry>> {
        self.server_named(name.as_str())
    }

    /// Returns the entry of a server by a string that may not be a valid server name.
    pub(crate) fn server_named(&self, name: &str) -> Option<&Arc<ServerEntry>> {
        self.servers.get(self.position_named(name)?)
    }

    /// Returns the position of a server.
    pub(crate) fn position(&self, name: &ServerName) -> Option<usize> {
        self.position_named(name.as_str())
    }

    fn position_named(&self, name: &str) -> Option<usize> {
        let by_name = |held: &Arc<ServerEntry>| held.name().as_str().cmp(name);
        self.servers.binary_search_by(by_name).ok()
    }

    /// Returns the server at a position.
    pub(crate) fn server_at(&self, at: usize) -> Option<&Arc<ServerEntry>> {
        self.servers.get(at)
    }

    pub(crate) fn lazy_index(&self) -> &LazyIndex {
        &self.lazy_index
    }

    /// Returns all servers, sorted by name.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<ServerEntry>> {
        self.servers.iter()
    }

    /// Returns the static tools, sorted by name.
    pub fn static_tools(&self) -> impl Iterator<Item = &Arc<StaticTool>> {
        self.statics.values()
    }

    /// Returns a static tool by name.
    pub fn static_tool(&self, name: &str) -> Option<&Arc<StaticTool>> {
        self.statics.get(name)
    }

    /// Returns all offered tools, static ones and those of servers, sorted by exposed name.
    pub fn tools(&self) -> impl Iterator<Item = ToolView<'_>> {
        self.all_tools().filter(ToolView::enabled)
    }

    /// Returns all known tools, including disabled ones, sorted by exposed name.
    pub fn all_tools(&self) -> impl Iterator<Item = ToolView<'_>> {
        // No server name plus separator is a prefix of another one, so servers can be listed one after the other.
        let mut servers: Vec<&Arc<ServerEntry>> = self.servers.iter().collect();
        servers.sort_unstable_by(|one, other| exposed_order(one.name(), other.name()));
        let mut server_tools = servers
            .into_iter()
            .flat_map(|entry| entry.all_tools())
            .peekable();
        let mut static_tools = self.statics.values().map(ToolView::of_static).peekable();
        std::iter::from_fn(move || {
            let order = match (static_tools.peek(), server_tools.peek()) {
                (Some(own), Some(other)) => own.exposed().cmp(other.exposed()),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => static_tools.next(),
                Ordering::Greater => server_tools.next(),
                Ordering::Equal => {
                    server_tools.next();
                    static_tools.next()
                }
            }
        })
    }

    /// Returns the tools of servers that are hidden by a static tool of the same exposed name, sorted by name.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let hidden = self.statics.keys().filter_map(|name| {
            let (server, _) = name.as_str().split_once(SEPARATOR)?;
            let entry = self.server_named(server)?;
            let view = entry.exposed_as(name.as_str())?;
            let (name, server) = (name.to_string(), entry.name().clone());
            Some(Conflict {
                name,
                server,
                tool: view.name().to_owned(),
            })
        });
        hidden.collect()
    }

    /// Returns the offered servers whose tools are unknown, or known only for another configuration.
    pub fn needs_discovery(&self) -> Vec<ServerName> {
        let wanting = self
            .servers
            .iter()
            .filter(|entry| entry.is_offered() && entry.needs_discovery());
        wanting.map(|entry| entry.name().clone()).collect()
    }

    /// Returns whether a server's tools are older than their TTL, or must be discovered.
    pub fn is_stale(&self, server: &ServerName) -> bool {
        self.server(server)
            .is_some_and(|entry| entry.stale || entry.needs_discovery())
    }
}

/// Builds a catalog of many servers at once. Of two entries for one server the later one is kept.
impl FromIterator<ServerEntry> for Catalog {
    fn from_iter<I: IntoIterator<Item = ServerEntry>>(entries: I) -> Self {
        let entries = entries
            .into_iter()
            .map(|entry| (entry.name().clone(), Arc::new(entry)));
        let by_name: BTreeMap<ServerName, Arc<ServerEntry>> = entries.collect();
        Self {
            servers: by_name.into_values().collect(),
            statics: Arc::default(),
            lazy_index: LazyIndex::default(),
        }
    }
}

/// Compares the exposed names of two servers, whose order differs from that of the server names: `a1__x` < `a__x`.
fn exposed_order(one: &ServerName, other: &ServerName) -> Ordering {
    let prefix = |name: &ServerName| {
        name.as_str()
            .bytes()
            .chain(SEPARATOR.bytes())
            .collect::<Vec<u8>>()
    };
    prefix(one).cmp(&prefix(other))
}
