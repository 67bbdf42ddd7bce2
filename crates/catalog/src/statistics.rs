//! Counts over a catalog.

use std::sync::Arc;

use pegboard_model::{DiscoveryStatus, Policy, ServerName, Timestamp, TrustState};
use serde::{Deserialize, Serialize};

use crate::entry::ServerEntry;
use crate::snapshot::Catalog;
use crate::static_tool::StaticTool;

/// Counts of a catalog's contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Servers by state.
    pub servers: ServerCounts,
    /// Offered tools, including static ones.
    pub tools: usize,
    /// Static tools.
    pub static_tools: usize,
    /// Known tools that are not offered.
    pub disabled: usize,
    /// Offered tools that are deprecated.
    pub deprecated: usize,
    /// Estimated tokens of the definitions of all offered tools.
    pub tokens: u64,
    /// Tools that servers sent and that were rejected.
    pub rejected: usize,
    /// Tools hidden by a static tool of the same name.
    pub conflicts: usize,
}

/// Offered tools by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfferedCounts {
    /// Static tools.
    pub static_tools: usize,
    /// Tools of servers, without those hidden by a static tool.
    pub mcp_tools: usize,
}

/// Servers by state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounts {
    /// All configured servers.
    pub total: usize,
    /// Disabled servers.
    pub disabled: usize,
    /// Servers that wait for trust.
    pub pending: usize,
    /// Servers that were never discovered.
    pub never: usize,
    /// Servers that are being discovered.
    pub discovering: usize,
    /// Servers whose last discovery succeeded.
    pub success: usize,
    /// Servers whose last discovery failed.
    pub failed: usize,
    /// Servers whose tool list is older than its TTL.
    pub stale: usize,
}

/// The in-memory catalog viewed as a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheStatistics {
    /// Cached tools of all servers.
    pub tools: usize,
    /// Servers whose list is older than its TTL.
    pub expired: usize,
    /// Lookups that found their data.
    pub hits: u64,
    /// Lookups that did not.
    pub misses: u64,
    /// The servers whose tools are known.
    pub servers: Vec<CachedServer>,
}

/// One server in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedServer {
    /// The server.
    pub server: ServerName,
    /// Number of its tools.
    pub tools: usize,
    /// Milliseconds since the tools were received.
    pub age_ms: u64,
    /// Whether the list is older than its TTL.
    pub expired: bool,
}

impl Catalog {
    /// Counts the contents of the catalog.
    pub fn statistics(&self) -> Statistics {
        let mut counts = Statistics {
            static_tools: self.static_tools().count(),
            conflicts: self.conflicts().len(),
            ..Statistics::default()
        };
        for entry in self.servers() {
            let servers = &mut counts.servers;
            servers.total += 1;
            servers.disabled += usize::from(!entry.spec.enabled);
            servers.pending += usize::from(entry.spec.trust_state != TrustState::Granted);
            servers.stale += usize::from(entry.stale);
            match entry.status() {
                DiscoveryStatus::Never => servers.never += 1,
                DiscoveryStatus::Discovering => servers.discovering += 1,
                DiscoveryStatus::Success => servers.success += 1,
                DiscoveryStatus::Failed => servers.failed += 1,
            }
            counts.rejected += entry.record.rejections.len();
        }
        for tool in self.all_tools() {
            if tool.enabled() {
                counts.tools += 1;
                counts.tokens += u64::from(tool.tokens());
                counts.deprecated += usize::from(tool.deprecated().is_some());
            } else {
                counts.disabled += 1;
            }
        }
        counts
    }

    /// Counts the offered tools without reading their definitions.
    pub fn offered_counts(&self) -> OfferedCounts {
        let is_offered = |tool: &&Arc<StaticTool>| tool.policy != Policy::Disable;
        OfferedCounts {
            static_tools: self.static_tools().filter(is_offered).count(),
            mcp_tools: self.servers().map(|entry| self.offered_by(entry)).sum(),
        }
    }

    /// Returns how many tools of a server are offered, without those hidden by a static tool.
    pub fn offered_by(&self, entry: &Arc<ServerEntry>) -> usize {
        let hides = |tool: &Arc<StaticTool>| {
            let hidden = entry.exposed_as(tool.name.as_str());
            hidden.is_some_and(|view| view.enabled())
        };
        let hidden = self.static_tools().filter(|tool| hides(tool)).count();
        entry.offered_count().saturating_sub(hidden)
    }

    /// Returns cache statistics at the time `now`. The caller counts hits and misses.
    pub fn cache_statistics(&self, now: Timestamp, hits: u64, misses: u64) -> CacheStatistics {
        let known = self.servers().filter_map(|entry| {
            let age = now.since(entry.record.discovered_at?);
            Some(CachedServer {
                server: entry.name().clone(),
                tools: entry.record.tools.len(),
                age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX),
                expired: entry.stale,
            })
        });
        let servers: Vec<CachedServer> = known.collect();
        CacheStatistics {
            tools: servers.iter().map(|server| server.tools).sum(),
            expired: servers.iter().filter(|server| server.expired).count(),
            hits,
            misses,
            servers,
        }
    }
}
