//! The snapshot itself.

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

/// Everything that is known at one moment. Cloning it, and making a changed copy, costs one pointer a
/// server, however many tools there are.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Sorted by name.
    servers: Vec<Arc<ServerEntry>>,
    statics: Arc<BTreeMap<ExposedName, Arc<StaticTool>>>,
    lazy_index: LazyIndex,
}

impl Catalog {
    /// A catalog with this entry in place of the server's former one, and what changed in its tools.
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
        (
            Self {
                servers,
                statics: self.statics.clone(),
                lazy_index,
            },
            delta,
        )
    }

    /// A catalog without a server, and how many offered tools left with it.
    pub fn without_server(&self, server: &ServerName) -> (Self, usize) {
        let left = self.server(server);
        let left = left.map_or(0, |entry| self.offered_by(entry));
        let servers = self
            .servers
            .iter()
            .filter(|entry| entry.name() != server)
            .cloned()
            .collect();
        (
            Self {
                servers,
                statics: self.statics.clone(),
                lazy_index: LazyIndex::default(),
            },
            left,
        )
    }

    /// A catalog without any server, and how many tools left; static tools stay.
    pub fn cleared(&self) -> (Self, usize) {
        let left = self
            .servers
            .iter()
            .map(|entry| entry.record.tools.len())
            .sum();
        (
            Self {
                servers: Vec::new(),
                statics: self.statics.clone(),
                lazy_index: LazyIndex::default(),
            },
            left,
        )
    }

    /// The same catalog with only the servers that `keep` names; static tools stay.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&ServerName) -> bool) -> Self {
        let kept = self.servers.iter().filter(|entry| keep(entry.name()));
        Self {
            servers: kept.cloned().collect(),
            statics: self.statics.clone(),
            lazy_index: LazyIndex::default(),
        }
    }

    /// A catalog with one more tool of the host program. Its name must be free among static tools; a
    /// server's tool of the same name gives way.
    pub fn with_static(&self, tool: StaticTool) -> Result<Self, ToolError> {
        if self.statics.contains_key(&tool.name) {
            let message = format!("a static tool `{}` is already registered", tool.name);
            return Err(ToolError::new(Reason::NameReserved, message).at_tool(tool.name.as_str()));
        }
        let mut statics = (*self.statics).clone();
        statics.insert(tool.name.clone(), Arc::new(tool));
        Ok(Self {
            servers: self.servers.clone(),
            statics: Arc::new(statics),
            lazy_index: LazyIndex::default(),
        })
    }

    /// The same catalog with the host program's tools under these rules; servers carry their own.
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
        Self {
            servers: self.servers.clone(),
            statics: Arc::new(statics.collect()),
            lazy_index: LazyIndex::default(),
        }
    }

    /// A catalog without one of the host program's tools.
    #[must_use]
    pub fn without_static(&self, name: &str) -> Self {
        let mut statics = (*self.statics).clone();
        statics.remove(name);
        Self {
            servers: self.servers.clone(),
            statics: Arc::new(statics),
            lazy_index: LazyIndex::default(),
        }
    }

    /// What is known of a server.
    pub fn server(&self, name: &ServerName) -> Option<&Arc<ServerEntry>> {
        self.server_named(name.as_str())
    }

    /// The same by a text that may be no server's name at all.
    pub(crate) fn server_named(&self, name: &str) -> Option<&Arc<ServerEntry>> {
        self.servers.get(self.position_named(name)?)
    }

    /// The place of a server among all.
    pub(crate) fn position(&self, name: &ServerName) -> Option<usize> {
        self.position_named(name.as_str())
    }

    fn position_named(&self, name: &str) -> Option<usize> {
        let by_name = |held: &Arc<ServerEntry>| held.name().as_str().cmp(name);
        self.servers.binary_search_by(by_name).ok()
    }

    /// The server at a place.
    pub(crate) fn server_at(&self, at: usize) -> Option<&Arc<ServerEntry>> {
        self.servers.get(at)
    }

    pub(crate) fn lazy_index(&self) -> &LazyIndex {
        &self.lazy_index
    }

    /// Every server, sorted by name.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<ServerEntry>> {
        self.servers.iter()
    }

    /// The host program's tools, sorted by name.
    pub fn static_tools(&self) -> impl Iterator<Item = &Arc<StaticTool>> {
        self.statics.values()
    }

    /// One of the host program's tools.
    pub fn static_tool(&self, name: &str) -> Option<&Arc<StaticTool>> {
        self.statics.get(name)
    }

    /// Every tool that is offered, static tools and those of servers, sorted by exposed name.
    pub fn tools(&self) -> impl Iterator<Item = ToolView<'_>> {
        self.all_tools().filter(ToolView::enabled)
    }

    /// Every tool that is known, also the disabled ones, sorted by exposed name.
    pub fn all_tools(&self) -> impl Iterator<Item = ToolView<'_>> {
        // No server's name with the separator starts another's, so whole servers can follow each other.
        let mut servers: Vec<&Arc<ServerEntry>> = self.servers.iter().collect();
        servers.sort_unstable_by(|one, other| exposed_order(one.name(), other.name()));
        let mut of_servers = servers
            .into_iter()
            .flat_map(|entry| entry.all_tools())
            .peekable();
        let mut of_host = self.statics.values().map(ToolView::of_host).peekable();
        std::iter::from_fn(move || {
            let order = match (of_host.peek(), of_servers.peek()) {
                (Some(own), Some(other)) => own.exposed().cmp(other.exposed()),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            match order {
                Ordering::Less => of_host.next(),
                Ordering::Greater => of_servers.next(),
                Ordering::Equal => {
                    of_servers.next();
                    of_host.next()
                }
            }
        })
    }

    /// The tools of servers that a static tool of the same exposed name hides, sorted by name.
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

    /// The servers that are offered and whose tools are not known, or not with their present definition.
    pub fn needs_discovery(&self) -> Vec<ServerName> {
        let wanting = self
            .servers
            .iter()
            .filter(|entry| entry.is_offered() && entry.needs_discovery());
        wanting.map(|entry| entry.name().clone()).collect()
    }

    /// Whether what is known of a server is older than it should be.
    pub fn is_stale(&self, server: &ServerName) -> bool {
        self.server(server)
            .is_some_and(|entry| entry.stale || entry.needs_discovery())
    }
}

/// A catalog of many servers at once, as a start makes it; of two entries for one server the later stays.
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

/// The order of two servers' exposed names, which is not that of their own names: `a1__x` < `a__x`.
fn exposed_order(one: &ServerName, other: &ServerName) -> Ordering {
    let prefix = |name: &ServerName| {
        name.as_str()
            .bytes()
            .chain(SEPARATOR.bytes())
            .collect::<Vec<u8>>()
    };
    prefix(one).cmp(&prefix(other))
}
