//! An in-memory index of the tools with grants.
//!
//! Most tools have no grant, and most calls would read the ledger only to learn that. From the second call on, the
//! names of all granted tools are held in memory and reloaded when the ledger changes, in this or another process.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pegboard_model::{Grant, ServerName};
use pegboard_store::Ledger;
use tokio::sync::watch;

use crate::sync::lock;

/// The ledger's grants, indexed for the gate.
pub(super) struct GrantIndex {
    ledger: Arc<dyn Ledger>,
    granted: Mutex<Option<GrantedTools>>,
    /// Set by the first lookup. A command that makes a single call needs no index and no watcher.
    was_asked: AtomicBool,
}

/// The tools with grants, and whether the index is current.
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

    /// Whether the index shows that the tool has no grant. Returns `false` if the index is missing or outdated.
    pub(super) fn has_none(&self, server: Option<&ServerName>, tool: &str) -> bool {
        let granted = lock(&self.granted);
        let Some(granted) = granted.as_ref() else {
            return false;
        };
        // Without a sender, changes would go unnoticed.
        if granted.changes.has_changed().unwrap_or(true) {
            return false;
        }
        // Usually there are no grants at all.
        granted.tools.is_empty()
            || !granted
                .tools
                .get(&server.cloned())
                .is_some_and(|tools| tools.contains(tool))
    }

    /// Returns the grants of a tool, of any version. If the ledger cannot be read, there are none.
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
        // Subscribe before reading, so that no change is missed.
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
