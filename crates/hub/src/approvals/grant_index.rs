//! Which tools somebody granted lastingly, without reading the ledger for every call.
//!
//! Most tools have no grant at all, and most calls would read the ledger only to learn that. From the second call on
//! the names of all tools with grants are held in memory and read again whenever the ledger says that it changed, in
//! whatever process.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pegboard_model::{Grant, ServerName};
use pegboard_store::Ledger;
use tokio::sync::watch;

use crate::sync::lock;

/// The grants of the ledger, as the gate needs them.
pub(super) struct GrantIndex {
    ledger: Arc<dyn Ledger>,
    granted: Mutex<Option<GrantedTools>>,
    /// A command that makes one call needs no index, and no thread that watches for changes.
    was_asked: AtomicBool,
}

/// The tools that have a grant, and whether that is still so.
struct GrantedTools {
    tools: HashMap<Option<ServerName>, HashSet<String>>,
    changes: watch::Receiver<u64>,
}

impl GrantIndex {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Self {
        Self {
            ledger,
            granted: Mutex::default(),
            was_asked: AtomicBool::new(false),
        }
    }

    /// Whether it is certain, without looking anywhere, that a tool has no grant of any version.
    pub(super) fn has_none(&self, server: Option<&ServerName>, tool: &str) -> bool {
        let granted = lock(&self.granted);
        let Some(granted) = granted.as_ref() else {
            return false;
        };
        // Without a sender nobody could say that something changed.
        if granted.changes.has_changed().unwrap_or(true) {
            return false;
        }
        // Most of the time nobody granted anything.
        granted.tools.is_empty()
            || !granted
                .tools
                .get(&server.cloned())
                .is_some_and(|tools| tools.contains(tool))
    }

    /// The grants of a tool, of whatever version. A ledger that cannot be read holds none.
    pub(super) async fn grants_of(&self, server: Option<&ServerName>, tool: &str) -> Vec<Grant> {
        if self.was_asked.swap(true, Ordering::Relaxed) {
            self.index().await;
            if self.has_none(server, tool) {
                return Vec::new();
            }
        }
        let grants = self.ledger.grants_of(server, tool).await;
        grants.unwrap_or_default()
    }

    async fn index(&self) {
        let is_current = lock(&self.granted)
            .as_ref()
            .is_some_and(|granted| !granted.changes.has_changed().unwrap_or(true));
        if is_current {
            return;
        }
        // Listening comes before reading, so that no change is missed.
        let mut changes = self.ledger.changes();
        changes.mark_unchanged();
        let Ok(grants) = self.ledger.grants().await else {
            return;
        };
        let mut tools: HashMap<Option<ServerName>, HashSet<String>> = HashMap::new();
        for grant in grants {
            let version = grant.version;
            tools
                .entry(version.server)
                .or_default()
                .insert(version.tool);
        }
        *lock(&self.granted) = Some(GrantedTools { tools, changes });
    }
}
