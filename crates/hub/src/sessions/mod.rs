//! The connected sessions, and what each of them holds: resource links and watches.

mod links;
mod registry;
mod watches;

use std::sync::{Arc, Mutex};

use pegboard_model::{Limits, Offer, ServerName};
use serde_json::value::RawValue;

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
    /// Records the resource links in a result and returns their URIs.
    pub(crate) fn record_links(
        &self,
        session: &SessionId,
        server: &ServerName,
        result: &RawValue,
        limits: &Limits,
    ) -> Vec<String> {
        self.links.record(session, server, result, limits)
    }

    /// Returns the resource that a server linked for a session.
    pub(crate) fn linked(
        &self,
        session: &SessionId,
        server: &ServerName,
        uri: &str,
    ) -> Option<Arc<Offer>> {
        self.links.find(session, server, uri)
    }
}

impl Hub {
    /// Ends a session: its watches, links and grants are removed.
    pub fn session_ended(&self, session: &SessionId) {
        let sessions = &self.inner.sessions;
        sessions.links.forget(session);
        sessions.registry.remove(session);
        self.inner.approvals.end_session(session);
        let servers = lock(&sessions.watches).remove_session(session);
        for server in &servers {
            self.inner.sync_watches_in_background(server);
        }
    }
}
