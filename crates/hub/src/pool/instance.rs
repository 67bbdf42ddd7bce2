//! One running instance of a server, and its leases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pegboard_model::{Limits, Reason, ServerName, SharingDecision, ToolError, ToolResult};
use pegboard_upstream::{Upstream, resident_bytes};
use tokio::sync::watch;
use tokio::time::Instant;

use super::info::{InstanceInfo, LeaseInfo};
use super::key::InstanceKey;
use super::shared_watches::SharedWatches;
use crate::slots::CallPlaces;
use crate::sync::lock;

/// Serializes the starts and ends of the instances of one key.
pub(super) struct KeyGate {
    key: InstanceKey,
    /// Held while an instance starts or ends, so that there is never a second one.
    pub(super) changing: tokio::sync::Mutex<()>,
    live: Mutex<Option<Arc<Instance>>>,
}

impl KeyGate {
    pub(super) fn new(key: InstanceKey) -> Self {
        Self {
            key,
            changing: tokio::sync::Mutex::default(),
            live: Mutex::default(),
        }
    }

    pub(super) fn key(&self) -> InstanceKey {
        self.key
    }

    pub(super) fn live(&self) -> Option<Arc<Instance>> {
        lock(&self.live).clone()
    }

    pub(super) fn install(&self, instance: Arc<Instance>) {
        *lock(&self.live) = Some(instance);
    }

    /// Removes the instance if it is this one.
    pub(super) fn remove(&self, this: &Arc<Instance>) {
        let mut live = lock(&self.live);
        if live.as_ref().is_some_and(|live| Arc::ptr_eq(live, this)) {
            *live = None;
        }
    }
}

/// A running instance of a server.
pub(super) struct Instance {
    pub(super) id: u64,
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) server: ServerName,
    pub(super) sharing: SharingDecision,
    pub(super) places: Arc<CallPlaces>,
    pub(super) watches: SharedWatches,
    /// By the number of the lease.
    leases: Mutex<BTreeMap<u64, LeaseInfo>>,
    last_used: Mutex<Instant>,
    lease_limit: usize,
    /// Whether a person stopped it. Its leases end then.
    stopped: watch::Sender<bool>,
}

impl Instance {
    pub(super) fn new(
        id: u64,
        upstream: Arc<dyn Upstream>,
        server: ServerName,
        sharing: SharingDecision,
        limits: &Limits,
    ) -> Self {
        Self {
            id,
            upstream,
            places: CallPlaces::new(server.clone(), limits),
            server,
            sharing,
            watches: SharedWatches::default(),
            leases: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            lease_limit: limits.leases_per_instance,
            stopped: watch::Sender::new(false),
        }
    }

    /// Whether it serves requests.
    pub(super) fn is_alive(&self) -> bool {
        !self.is_stopped() && self.upstream.is_alive()
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stopped.borrow()
    }

    /// Ends it for all its users. Their open requests fail.
    pub(super) async fn stop(&self) {
        self.stopped.send_replace(true);
        self.upstream.close().await;
    }

    /// Completes when it was stopped.
    pub(super) async fn stopped(&self) {
        let mut stopped = self.stopped.subscribe();
        // The sender is owned by `self`, so this cannot fail.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    /// Adds a lease.
    pub(super) fn add_lease(&self, number: u64, info: LeaseInfo) -> ToolResult<()> {
        let mut leases = lock(&self.leases);
        if leases.len() >= self.lease_limit {
            let message = format!(
                "server `{}` is already shared by {} clients",
                self.server, self.lease_limit
            );
            return Err(ToolError::new(Reason::Overloaded, message).at_server(&self.server));
        }
        leases.insert(number, info);
        Ok(())
    }

    /// Removes a lease. Returns whether it was the last one.
    pub(super) fn remove_lease(&self, number: u64) -> bool {
        let mut leases = lock(&self.leases);
        leases.remove(&number);
        leases.is_empty()
    }

    /// Records that a request ended now.
    pub(super) fn mark_used(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    pub(super) fn info(&self) -> InstanceInfo {
        let health = self.upstream.health();
        let in_flight = self.places.running();
        let idle = lock(&self.last_used).elapsed();
        InstanceInfo {
            id: self.id,
            server: self.server.clone(),
            pid: health.pid,
            scope: self.sharing.scope,
            reason: self.sharing.reason.to_string(),
            leases: lock(&self.leases).values().cloned().collect(),
            started: health.started,
            idle_ms: (in_flight == 0).then(|| crate::telemetry::millis(idle)),
            in_flight,
            takes_turns: self.upstream.requested().input,
            memory_bytes: health.pid.and_then(resident_bytes),
        }
    }
}
