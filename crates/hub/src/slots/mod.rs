//! The runtime state of the servers: their connections, who holds them, and their failures.

mod connection;
mod connections;
mod failure_history;
mod list_changes;
mod slot;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pegboard_model::{Limits, ServerName};

pub(crate) use self::connection::{ConnectionHold, ServerConnection};
pub(crate) use self::slot::ServerSlot;
use crate::sync::lock;

/// The slots of all servers. A slot is created when it is first needed.
pub(crate) struct ServerSlots {
    slots: Mutex<HashMap<ServerName, Arc<ServerSlot>>>,
    limits: Limits,
}

impl ServerSlots {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            slots: Mutex::default(),
            limits,
        }
    }

    pub(crate) fn get_or_create(&self, server: &ServerName) -> Arc<ServerSlot> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(server) {
            return slot.clone();
        }
        let slot = Arc::new(ServerSlot::new(server.clone(), &self.limits));
        slots.insert(server.clone(), slot.clone());
        slot
    }

    pub(crate) fn get(&self, server: &ServerName) -> Option<Arc<ServerSlot>> {
        lock(&self.slots).get(server).cloned()
    }

    /// The server's connection, if it is running.
    pub(crate) fn running(&self, server: &ServerName) -> Option<Arc<ServerConnection>> {
        self.get(server)?.running()
    }

    /// All slots, sorted by server.
    pub(crate) fn all(&self) -> Vec<Arc<ServerSlot>> {
        let mut slots: Vec<_> = lock(&self.slots).values().cloned().collect();
        slots.sort_by(|one, other| one.server().cmp(other.server()));
        slots
    }

    /// Removes the slot of a removed server, unless it is still in use.
    pub(crate) fn remove_unused(&self, server: &ServerName) {
        let mut slots = lock(&self.slots);
        let is_unused =
            |slot: &Arc<ServerSlot>| Arc::strong_count(slot) == 1 && slot.running().is_none();
        if slots.get(server).is_some_and(is_unused) {
            slots.remove(server);
        }
    }
}
