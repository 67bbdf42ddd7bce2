//! Counts over a catalog.

use std::sync::Arc;

use pegboard_model::{DiscoveryStatus, Policy, ServerName, Timestamp, TrustState};
use serde::{Deserialize, Serialize};

use crate::entry::ServerEntry;
use crate::snapshot::Catalog;
use crate::static_tool::StaticTool;

/// What a catalog holds, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Servers, by how they stand.
    pub servers: ServerCounts,
    /// Tools that are offered, static ones among them.
    pub tools: usize,
    /// Tools of the host program.
    pub static_tools: usize,
    /// Tools that are known and not offered.
    pub disabled: usize,
    /// Offered tools that should no longer be used.
    pub deprecated: usize,
    /// About how many tokens the definitions of all offered tools cost.
    pub tokens: u64,
    /// Tools that servers sent and that were not accepted.
    pub rejected: usize,
    /// Tools that give way to a static tool of the same name.
    pub conflicts: usize,
}

/// Tools that are offered, by where they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfferedCounts {
    /// Tools of the host program.
    pub static_tools: usize,
    /// Tools of servers. A tool that a static tool hides is not among them.
    pub mcp_tools: usize,
}

/// Servers by how they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCounts {
    /// All that are configured.
    pub total: usize,
    /// Switched off.
    pub disabled: usize,
    /// Waiting for somebody to agree.
    pub pending: usize,
    /// Never asked.
    pub never: usize,
    /// Being asked now.
    pub discovering: usize,
    /// The last discovery worked.
    pub success: usize,
    /// The last discovery failed.
    pub failed: usize,
    /// Their tools are older than they should be.
    pub stale: usize,
}

/// How the in-memory catalog does as a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheStatistics {
    /// Tools held, of all servers.
    pub tools: usize,
    /// Servers whose list is older than it should be.
    pub expired: usize,
    /// Reads that found what they needed.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Each server whose tools are known.
    pub servers: Vec<CachedServer>,
}

/// How one server stands in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedServer {
    /// Which.
    pub server: ServerName,
    /// Its tools.
    pub tools: usize,
    /// Milliseconds since they were received.
    pub age_ms: u64,
    /// Whether that is longer than it should be.
    pub expired: bool,
}

impl Catalog {
    /// Counts what the catalog holds.
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
            servers.pending += usize::from(entry.spec.approval != TrustState::Granted);
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

    /// Counts the offered tools without looking at their definitions.
    pub fn offered_counts(&self) -> OfferedCounts {
        let is_offered = |tool: &&Arc<StaticTool>| tool.policy != Policy::Disable;
        OfferedCounts {
            static_tools: self.static_tools().filter(is_offered).count(),
            mcp_tools: self.servers().map(|entry| self.offered_by(entry)).sum(),
        }
    }

    /// How many tools of a server are offered, without those that a static tool hides.
    pub fn offered_by(&self, entry: &Arc<ServerEntry>) -> usize {
        let hides = |tool: &Arc<StaticTool>| {
            let hidden = entry.exposed_as(tool.name.as_str());
            hidden.is_some_and(|view| view.enabled())
        };
        let hidden = self.static_tools().filter(|tool| hides(tool)).count();
        entry.offered_count().saturating_sub(hidden)
    }

    /// How the catalog does as a cache at a moment; whoever reads it counts the hits and misses.
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
