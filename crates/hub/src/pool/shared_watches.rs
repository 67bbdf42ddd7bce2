//! Resource subscriptions of an instance: one at the server, however many leases watch the resource.

use std::collections::{BTreeMap, BTreeSet};

use pegboard_model::ToolResult;
use pegboard_upstream::Upstream;
use tokio::sync::Mutex;

/// The watched resources by URI. Locked while the server confirms, so that it ends up with the latest state. The
/// server's connection limits their number.
#[derive(Default)]
pub(super) struct SharedWatches(Mutex<BTreeMap<String, SharedWatch>>);

#[derive(Default)]
struct SharedWatch {
    /// The numbers of the leases that watch the resource.
    leases: BTreeSet<u64>,
    /// Whether the server confirmed the subscription.
    is_confirmed: bool,
}

impl SharedWatches {
    /// Adds or removes the watch of a lease. The server is contacted for the first and the last lease.
    pub(super) async fn set(
        &self,
        upstream: &dyn Upstream,
        lease: u64,
        uri: &str,
        watch: bool,
    ) -> ToolResult<()> {
        let mut watches = self.0.lock().await;
        match watch {
            true => {
                let shared = watches.entry(uri.to_owned()).or_default();
                // Recorded before the request: if the caller goes away meanwhile, the server may have received it, and
                // the release of the lease removes it again.
                shared.leases.insert(lease);
                if shared.is_confirmed {
                    return Ok(());
                }
                let agreed = upstream.watch_resource(uri, true).await;
                match &agreed {
                    Ok(()) => shared.is_confirmed = true,
                    Err(_) => drop(shared.leases.remove(&lease)),
                }
                if shared.leases.is_empty() {
                    watches.remove(uri);
                }
                agreed
            }
            false => {
                let Some(shared) = watches.get_mut(uri) else {
                    return Ok(());
                };
                if !shared.leases.remove(&lease) || !shared.leases.is_empty() {
                    return Ok(());
                }
                watches.remove(uri);
                upstream.watch_resource(uri, false).await
            }
        }
    }

    /// Removes all watches of a lease. The server is contacted for those that no other lease needs.
    pub(super) async fn release(&self, upstream: &dyn Upstream, lease: u64) {
        let mut watches = self.0.lock().await;
        let mut unneeded = Vec::new();
        watches.retain(|uri, shared| {
            if shared.leases.remove(&lease) && shared.leases.is_empty() {
                unneeded.push(uri.clone());
            }
            !shared.leases.is_empty()
        });
        for uri in unneeded {
            // A server that refuses or is gone sends no updates either.
            let _ = upstream.watch_resource(&uri, false).await;
        }
    }
}
