//! The choice of a slot for a request: the common one, or that of the client's session.

use std::sync::Arc;

use pegboard_catalog::ServerEntry;
use pegboard_model::{ServerName, ShareScope, ToolResult};

use super::{ServerConnection, ServerSlot};
use crate::calls::SessionId;
use crate::hub::{Hub, Inner};
use crate::telemetry::new_trace;

impl Inner {
    /// Returns the slot for a request of a session. With the scope `session`, each connected session has its own.
    /// Clients without a lasting session (single HTTP requests, the command line) share the common one.
    ///
    /// # Errors
    /// Fails if too many sessions have an instance of this server.
    pub(crate) fn slot_for_request(
        self: &Arc<Self>,
        entry: &ServerEntry,
        session: &SessionId,
    ) -> ToolResult<Arc<ServerSlot>> {
        let server = &entry.spec.name;
        let own = self.slots.of_session(server, session);
        if entry.sharing().scope != ShareScope::Session {
            // An instance that was started for the session serves it until it ends.
            let own = own.filter(|own| own.hold(&entry.spec.hash).is_some());
            return Ok(own.unwrap_or_else(|| self.slots.get_or_create(server)));
        }
        if let Some(own) = own {
            return Ok(own);
        }
        let common = self.slots.get_or_create(server);
        if !self.sessions.is_open(session) {
            return Ok(common);
        }
        if let Some(hold) = common.hold(&entry.spec.hash) {
            let running = hold.running().clone();
            drop(hold);
            // A shared instance that became one for sessions keeps what its clients did until it ends.
            if running.scope != ShareScope::Session && running.was_called() {
                return Ok(common);
            }
            // One that was only opened for the list is not needed next to the session's own.
            if common.retire_if_uncalled(&running, true) {
                self.end(running, server, "discovered", new_trace());
            }
        }
        self.slots.create_for_session(server, session)
    }

    /// The running connection that a session uses.
    pub(crate) fn connection_of(
        &self,
        server: &ServerName,
        session: &SessionId,
    ) -> Option<Arc<ServerConnection>> {
        let own = self.slots.of_session(server, session);
        own.or_else(|| self.slots.get(server))?.running()
    }

    /// Whether a connection serves a session's watches: its own instance, or the common one if it has none.
    pub(crate) fn serves(
        &self,
        running: &ServerConnection,
        server: &ServerName,
        session: &SessionId,
    ) -> bool {
        match &running.session {
            Some(own) => own == session,
            None => self.slots.of_session(server, session).is_none(),
        }
    }
}

impl Hub {
    /// Ends the instances of a session in the background. A shutdown waits for them.
    pub(crate) fn end_session_instances(&self, session: &SessionId) {
        for slot in self.inner.slots.remove_session(session) {
            // Without a runtime the program is ending, and the server with it.
            if let (Some(running), Ok(_)) = (slot.take(), tokio::runtime::Handle::try_current()) {
                let server = slot.server();
                self.inner
                    .end(running, server, "session ended", new_trace());
            }
        }
    }
}
