//! The connected sessions, and what each of them holds: resource links and watches.

mod links;
mod registry;
mod watches;

use std::sync::Mutex;

use self::links::ResourceLinks;
use self::registry::SessionRegistry;
pub use self::registry::{ClientTransport, SessionHandle, SessionInfo};
use self::watches::ResourceWatches;
use crate::calls::SessionId;
use crate::hub::Hub;
use crate::sync::lock;

/// The state of all sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    registry: SessionRegistry,
    links: ResourceLinks,
    watches: Mutex<ResourceWatches>,
}

impl Sessions {
    /// Whether the session is connected and will be ended with [`Hub::session_ended`].
    pub(crate) fn is_open(&self, session: &SessionId) -> bool {
        self.registry.is_open(session)
    }

    pub(crate) fn links(&self) -> &ResourceLinks {
        &self.links
    }
}

impl Hub {
    /// Ends a session: its watches, links and grants are removed, and the servers that ran for it alone are stopped.
    pub fn session_ended(&self, session: &SessionId) {
        let sessions = &self.inner.sessions;
        sessions.links.forget(session);
        sessions.registry.remove(session);
        self.inner.approvals.session_grants().forget(session);
        self.end_session_instances(session);
        let servers = lock(&sessions.watches).remove_session(session);
        for server in &servers {
            self.inner.sync_watches_in_background(server);
        }
    }
}
