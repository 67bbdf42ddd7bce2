//! The runtime state of the servers: their connections, who holds them, and their failures.

mod call_places;
mod connection;
mod connections;
mod failure_history;
mod list_changes;
mod session_slots;
mod slot;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pegboard_model::{ConfigHash, Limits, Reason, ServerName, ToolError, ToolResult};

pub(crate) use self::call_places::CallPlaces;
pub(crate) use self::connection::{ConnectionHold, ServerConnection};
pub(crate) use self::slot::ServerSlot;
use crate::calls::SessionId;
use crate::sync::lock;

/// The slots of all servers. A slot is created when it is first needed. Each server has one common slot; a server with
/// the scope `session` also has one for each session that uses it.
pub(crate) struct ServerSlots {
    slots: Mutex<HashMap<ServerName, SlotsOfServer>>,
    limits: Limits,
}

#[derive(Default)]
struct SlotsOfServer {
    common: Option<Arc<ServerSlot>>,
    sessions: HashMap<SessionId, Arc<ServerSlot>>,
    /// The session whose instance announced a changed list last.
    announced: Option<SessionId>,
}

impl SlotsOfServer {
    fn all(&self) -> impl Iterator<Item = &Arc<ServerSlot>> {
        self.common.iter().chain(self.sessions.values())
    }
}

/// Whether nothing but the map refers to a slot.
fn is_unused(slot: &Arc<ServerSlot>) -> bool {
    Arc::strong_count(slot) == 1 && slot.running().is_none()
}

impl ServerSlots {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            slots: Mutex::default(),
            limits,
        }
    }

    /// The common slot of a server.
    pub(crate) fn get_or_create(&self, server: &ServerName) -> Arc<ServerSlot> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(server).and_then(|of| of.common.as_ref()) {
            return slot.clone();
        }
        let slot = Arc::new(ServerSlot::new(server.clone(), None, &self.limits));
        slots.entry(server.clone()).or_default().common = Some(slot.clone());
        slot
    }

    /// The common slot of a server, if it exists.
    pub(crate) fn get(&self, server: &ServerName) -> Option<Arc<ServerSlot>> {
        lock(&self.slots).get(server)?.common.clone()
    }

    /// The slot of one session, if it exists.
    pub(crate) fn of_session(
        &self,
        server: &ServerName,
        session: &SessionId,
    ) -> Option<Arc<ServerSlot>> {
        lock(&self.slots)
            .get(server)?
            .sessions
            .get(session)
            .cloned()
    }

    /// The slot of one session, which is created if necessary.
    ///
    /// # Errors
    /// Fails if too many sessions have an instance of this server.
    pub(crate) fn create_for_session(
        &self,
        server: &ServerName,
        session: &SessionId,
    ) -> ToolResult<Arc<ServerSlot>> {
        let mut slots = lock(&self.slots);
        let of = slots.entry(server.clone()).or_default();
        if let Some(slot) = of.sessions.get(session) {
            return Ok(slot.clone());
        }
        let most = self.limits.session_instances_per_server;
        if of.sessions.len() >= most {
            of.sessions.retain(|_, slot| !is_unused(slot));
        }
        if of.sessions.len() >= most {
            let message = format!(
                "server `{server}` runs once for each session, and {most} sessions use it already"
            );
            let remedy = "Close a session that no longer needs the server, or set `share` of the server to `project`.";
            let error = ToolError::new(Reason::Overloaded, message).at_server(server);
            return Err(error.with_remedy(remedy));
        }
        let slot = ServerSlot::new(server.clone(), Some(session.clone()), &self.limits);
        let slot = Arc::new(slot);
        of.sessions.insert(session.clone(), slot.clone());
        Ok(slot)
    }

    /// The slot through which the lists of a server are fetched: the common one, unless only the instance that
    /// announced a change is running.
    pub(crate) fn for_discovery(
        &self,
        server: &ServerName,
        config: &ConfigHash,
    ) -> Arc<ServerSlot> {
        let common = self.get_or_create(server);
        if common.hold(config).is_some() {
            return common;
        }
        let slots = lock(&self.slots);
        let announced = slots.get(server).and_then(|of| {
            let slot = of.sessions.get(of.announced.as_ref()?)?;
            Some(slot.clone())
        });
        announced
            .filter(|slot| slot.hold(config).is_some())
            .unwrap_or(common)
    }

    /// Records that the instance of a slot announced a changed list.
    pub(crate) fn mark_announced(&self, slot: &ServerSlot) {
        let session = slot.session().cloned();
        if let Some(of) = lock(&self.slots).get_mut(slot.server()) {
            of.announced = session;
        }
    }

    /// All slots of a server, the common one first.
    pub(crate) fn of_server(&self, server: &ServerName) -> Vec<Arc<ServerSlot>> {
        let slots = lock(&self.slots);
        let of = slots.get(server).into_iter();
        of.flat_map(SlotsOfServer::all).cloned().collect()
    }

    /// Removes the slots of a session that ended. Connections that are still being opened for them are closed.
    pub(crate) fn remove_session(&self, session: &SessionId) -> Vec<Arc<ServerSlot>> {
        let mut slots = lock(&self.slots);
        let removed = slots
            .values_mut()
            .filter_map(|of| of.sessions.remove(session));
        let removed: Vec<_> = removed.collect();
        removed.iter().for_each(|slot| slot.retire());
        removed
    }

    /// All slots, sorted by server.
    pub(crate) fn all(&self) -> Vec<Arc<ServerSlot>> {
        let slots = lock(&self.slots);
        let mut slots: Vec<_> = slots
            .values()
            .flat_map(SlotsOfServer::all)
            .cloned()
            .collect();
        slots.sort_by(|one, other| one.server().cmp(other.server()));
        slots
    }

    /// Gives up a slot, and removes it if it is the unused one of a session.
    pub(crate) fn give_up(&self, slot: Arc<ServerSlot>) {
        let mut slots = lock(&self.slots);
        let (server, session) = (slot.server().clone(), slot.session().cloned());
        // Dropped under the lock, so that the last user sees that it is the last.
        drop(slot);
        if let (Some(of), Some(session)) = (slots.get_mut(&server), session)
            && of.sessions.get(&session).is_some_and(is_unused)
        {
            of.sessions.remove(&session);
        }
    }

    /// Removes the slots of a removed server that are not in use.
    pub(crate) fn remove_unused(&self, server: &ServerName) {
        let mut slots = lock(&self.slots);
        if let Some(of) = slots.get_mut(server) {
            of.common = of.common.take().filter(|slot| !is_unused(slot));
            of.sessions.retain(|_, slot| !is_unused(slot));
            if of.all().next().is_none() {
                slots.remove(server);
            }
        }
    }
}
