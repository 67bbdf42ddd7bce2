//! The pool of server instances: several hubs of one process share running servers.
//!
//! Each hub gets a *view* of the pool, which replaces its connector. A view's connection is a *lease* on an instance.
//! Instances are found by their key, which covers everything that determines what runs and who may share it.
//!
//! Invariant: at most one live instance per key; a start waits until the previous instance has ended.
//! Invariant: an instance ends when its last lease is closed or dropped, and a dead one is never leased.
//! Invariant: sessions of different views never look like one session to a server connection.

mod info;
mod instance;
mod key;
mod lease;
mod lease_caller;
mod shared_watches;
mod view;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pegboard_model::{HashKey, Limits, ServerName};
use pegboard_upstream::Connect;
use tokio::sync::watch;

pub use self::info::{InstanceInfo, LeaseInfo};
use self::instance::{Instance, KeyGate};
use self::key::InstanceKey;
use self::view::PoolView;
use crate::sync::lock;

/// What a view knows about its clients.
#[derive(Clone, Debug, Default)]
pub struct ViewContext {
    /// The name of the view for people, for example its project folder.
    pub name: String,
    /// The project folder; `None` outside of any project.
    pub project: Option<PathBuf>,
    /// The environment of the clients, as the view's connector passes it to servers. Only a keyed hash of it is kept.
    pub environment: std::collections::BTreeMap<String, String>,
    /// Additional variable names that every server gets.
    pub env_allow: Vec<String>,
    /// The working directory of servers without `cwd`, if the view's connector has no private folders for them.
    pub working_dir: Option<PathBuf>,
}

/// Shares server instances between hubs. Cloning gives another handle to the same pool.
#[derive(Clone)]
pub struct ServerPool(Arc<PoolInner>);

struct PoolInner {
    gates: Mutex<HashMap<InstanceKey, Arc<KeyGate>>>,
    /// Hashes keys, so that environments cannot be guessed from them.
    hash_key: HashKey,
    limits: Limits,
    /// Numbers views, leases and unshared instances.
    numbers: AtomicU64,
    /// Open leases, including those that are being released.
    leases: watch::Sender<usize>,
}

impl ServerPool {
    /// Creates an empty pool.
    pub fn new(limits: Limits) -> Self {
        let mut key = [0; 32];
        // Without randomness the keys are still distinct; they never leave the process.
        let _ = getrandom::fill(&mut key);
        Self(Arc::new(PoolInner {
            gates: Mutex::default(),
            hash_key: HashKey(key),
            limits,
            numbers: AtomicU64::new(0),
            leases: watch::Sender::new(0),
        }))
    }

    /// Returns a connector for one hub. `connector` starts the servers that are not running yet.
    pub fn view(&self, connector: Arc<dyn Connect>, context: ViewContext) -> Arc<dyn Connect> {
        Arc::new(PoolView::new(self.0.clone(), connector, context))
    }

    /// Returns the running instances, sorted by server and start. Reads the memory of their processes from the system.
    pub fn instances(&self) -> Vec<InstanceInfo> {
        let live = self.0.live();
        let mut infos: Vec<_> = live.iter().map(|instance| instance.info()).collect();
        infos.sort_by(|a, b| (&a.server, a.started).cmp(&(&b.server, b.started)));
        infos
    }

    /// Ends a running instance for all its users. Their open requests fail; the next one starts another instance. Returns
    /// the server's name, or `None` if no running instance has this id.
    pub async fn stop_instance(&self, id: u64) -> Option<ServerName> {
        let live = self.0.live();
        let instance = live.into_iter().find(|instance| instance.id == id)?;
        instance.stop().await;
        Some(instance.server.clone())
    }

    /// Waits until all leases are released and their instances have ended. The hubs are shut down before.
    pub async fn released(&self) {
        let mut leases = self.0.leases.subscribe();
        // The sender is owned by `self`, so this cannot fail.
        let _ = leases.wait_for(|count| *count == 0).await;
    }
}

impl PoolInner {
    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn live(&self) -> Vec<Arc<Instance>> {
        let gates = lock(&self.gates);
        gates.values().filter_map(|gate| gate.live()).collect()
    }

    /// The gate of a key. It is removed when it is no longer used.
    fn gate(&self, key: InstanceKey) -> Arc<KeyGate> {
        let mut gates = lock(&self.gates);
        gates
            .entry(key)
            .or_insert_with(|| Arc::new(KeyGate::new(key)))
            .clone()
    }

    /// Gives up a gate, and removes it if it has no instance and no other users.
    fn remove_unused(&self, gate: Arc<KeyGate>) {
        let mut gates = lock(&self.gates);
        let key = gate.key();
        // Dropped under the lock, so that the last of several users sees that it is the last.
        drop(gate);
        let is_unused = |held: &Arc<KeyGate>| Arc::strong_count(held) == 1 && held.live().is_none();
        if gates.get(&key).is_some_and(is_unused) {
            gates.remove(&key);
        }
    }
}
