//! Resource subscriptions: one subscription at the server, however many sessions watch the resource.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Limits, Reason, ServerName, ToolError, ToolResult};
use tokio::time::timeout;

use crate::calls::SessionId;
use crate::hub::{Hub, Inner};
use crate::slots::{ConnectionHold, ServerConnection};
use crate::sync::lock;
use crate::telemetry::TraceScope;

/// How long a server may take to confirm; other subscriptions of the server wait meanwhile.
const WATCH_TIMEOUT: Duration = Duration::from_secs(30);

/// The watched resources of all sessions. They outlast a server's process and are restored when it restarts.
#[derive(Default)]
pub(super) struct ResourceWatches(BTreeMap<ServerName, BTreeMap<String, HashSet<SessionId>>>);

impl ResourceWatches {
    /// Adds a watch. Returns whether it is new.
    fn add(
        &mut self,
        session: &SessionId,
        server: &ServerName,
        uri: &str,
        limits: &Limits,
    ) -> ToolResult<bool> {
        if self.has(session, server, uri) {
            return Ok(false);
        }
        let mut sessions = self.0.values().flat_map(BTreeMap::values);
        let own = sessions
            .by_ref()
            .filter(|all| all.contains(session))
            .count();
        let of_server = self.0.get(server).map_or(0, BTreeMap::len);
        let (limit, owner) = if own >= limits.subscriptions_per_session {
            (limits.subscriptions_per_session, "one session")
        } else if of_server >= limits.subscriptions_per_server {
            (
                limits.subscriptions_per_server,
                "all sessions at one server",
            )
        } else {
            let uris = self.0.entry(server.clone()).or_default();
            uris.entry(uri.to_owned())
                .or_default()
                .insert(session.clone());
            return Ok(true);
        };
        let message = format!("{owner} may watch at most {limit} resources");
        let remedy = "Stop watching a resource that is no longer needed.";
        let error = ToolError::new(Reason::Overloaded, message).at_server(server);
        Err(error.with_remedy(remedy))
    }

    fn has(&self, session: &SessionId, server: &ServerName, uri: &str) -> bool {
        let sessions = self.0.get(server).and_then(|uris| uris.get(uri));
        sessions.is_some_and(|sessions| sessions.contains(session))
    }

    fn remove(&mut self, session: &SessionId, server: &ServerName, uri: &str) {
        let Some(uris) = self.0.get_mut(server) else {
            return;
        };
        if let Some(sessions) = uris.get_mut(uri) {
            sessions.remove(session);
            if sessions.is_empty() {
                uris.remove(uri);
            }
        }
        if uris.is_empty() {
            self.0.remove(server);
        }
    }

    /// Removes all watches of a session. Returns the affected servers.
    pub(super) fn remove_session(&mut self, session: &SessionId) -> Vec<ServerName> {
        let mut touched = Vec::new();
        for (server, uris) in &mut self.0 {
            let before = uris.len();
            uris.retain(|_, sessions| {
                sessions.remove(session);
                !sessions.is_empty()
            });
            if uris.len() < before {
                touched.push(server.clone());
            }
        }
        self.0.retain(|_, uris| !uris.is_empty());
        touched
    }

    fn uris(&self, server: &ServerName) -> BTreeSet<String> {
        let uris = self.0.get(server).into_iter().flat_map(BTreeMap::keys);
        uris.cloned().collect()
    }

    fn is_watched(&self, server: &ServerName) -> bool {
        self.0.contains_key(server)
    }
}

impl Hub {
    /// Starts or stops watching a resource for a session, by the server's own URI. The server is contacted for the
    /// first and the last watching session. While a resource is watched, its server is not stopped as idle, and after
    /// a restart the watch is restored. Updates arrive through [`Hub::announcements`].
    ///
    /// # Errors
    /// Fails if the server or resource is unknown, the policy refuses it, a limit is reached, or the server fails.
    pub async fn watch_resource(
        &self,
        session: &SessionId,
        server: &ServerName,
        uri: &str,
        watch: bool,
    ) -> ToolResult<()> {
        let inner = &self.inner;
        if !watch {
            lock(&inner.sessions.watches).remove(session, server, uri);
            return match inner.connection_of(server, session) {
                Some(running) => inner.sync_watch(&running, server, uri).await,
                None => Ok(()),
            };
        }
        if uri.len() > inner.limits.offer_key_bytes {
            let limit = inner.limits.offer_key_bytes;
            let message = format!("a resource URI has at most {limit} bytes");
            return Err(ToolError::new(Reason::ResourceUnknown, message).at_server(server));
        }
        let entry = inner.usable(server)?;
        let trace = TraceScope::new();
        inner.gate_watch(&entry, uri, &trace).await?;
        let is_new = lock(&inner.sessions.watches).add(session, server, uri, &inner.limits)?;
        // Removed again if the caller goes away before the server responds.
        let pending = PendingWatch {
            inner,
            session,
            server,
            uri,
            kept: !is_new,
        };
        let slot = inner.slot_for_request(&entry, session)?;
        let hold = inner.hold_for_call(&slot, &entry, &trace).await?;
        let agreed = inner.sync_watch(hold.running(), server, uri).await;
        inner.record_result(&slot, &hold, &agreed);
        agreed.map(|()| pending.keep())
    }
}

/// A new watch that is removed on drop unless it is kept.
struct PendingWatch<'a> {
    inner: &'a Arc<Inner>,
    session: &'a SessionId,
    server: &'a ServerName,
    uri: &'a str,
    kept: bool,
}

impl PendingWatch<'_> {
    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for PendingWatch<'_> {
    fn drop(&mut self) {
        if !self.kept {
            lock(&self.inner.sessions.watches).remove(self.session, self.server, self.uri);
            // A restart may have subscribed at the server in the meantime.
            self.inner.sync_watches_in_background(self.server);
        }
    }
}

impl Inner {
    /// Restores the watches of a server that was just started, and keeps it running for them.
    pub(crate) fn restore_watches(
        self: &Arc<Self>,
        server: &ServerName,
        hold: impl FnOnce() -> Option<ConnectionHold>,
    ) {
        if !lock(&self.sessions.watches).is_watched(server) {
            return;
        }
        let Some(hold) = hold() else {
            return;
        };
        if !self.has_watches(hold.running(), server) {
            return;
        }
        hold.mark_called();
        let (inner, server) = (self.clone(), server.clone());
        self.tasks.spawn(async move {
            inner.sync_watches(hold.running(), &server).await;
        });
    }

    /// Synchronizes the watches of a running server in the background.
    pub(super) fn sync_watches_in_background(self: &Arc<Self>, server: &ServerName) {
        // Without a runtime the program is ending, and the server with it.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let slots = self.slots.of_server(server);
        for running in slots.iter().filter_map(|slot| slot.running()) {
            let (inner, server) = (self.clone(), server.clone());
            self.tasks.spawn(async move {
                inner.sync_watches(&running, &server).await;
            });
        }
    }

    /// Whether a session that this connection serves watches a resource.
    fn has_watches(&self, running: &ServerConnection, server: &ServerName) -> bool {
        let watches = lock(&self.sessions.watches);
        let uris = watches.0.get(server).into_iter();
        let mut sessions = uris.flat_map(BTreeMap::values).flatten();
        sessions.any(|session| self.serves(running, server, session))
    }

    async fn sync_watches(&self, running: &ServerConnection, server: &ServerName) {
        let mut uris = lock(&self.sessions.watches).uris(server);
        uris.extend(running.watched.lock().await.iter().cloned());
        for uri in uris {
            if let Err(error) = self.sync_watch(running, server, &uri).await {
                tracing::warn!(target: "pegboard", %server, "cannot watch a resource: {error}");
            }
        }
    }

    /// Synchronizes one watch with the server. Serialized per connection, so that the server ends up with the latest
    /// state.
    async fn sync_watch(
        &self,
        running: &ServerConnection,
        server: &ServerName,
        uri: &str,
    ) -> ToolResult<()> {
        let mut watched = running.watched.lock().await;
        let wanted = {
            let watches = lock(&self.sessions.watches);
            let uris = watches.0.get(server);
            let sessions = uris.and_then(|uris| uris.get(uri));
            let is_served = |session: &SessionId| self.serves(running, server, session);
            sessions.is_some_and(|sessions| sessions.iter().any(is_served))
        };
        if wanted == watched.contains(uri) {
            return Ok(());
        }
        // Recorded before the request. A removed watch is forgotten even if the request fails, because a server that
        // is gone or refuses sends no updates either. A new watch may have reached the server even if the caller goes
        // away, so it has to be removed again then.
        match wanted {
            true => watched.insert(uri.to_owned()),
            false => watched.remove(uri),
        };
        running.set_watched(watched.len());
        let asked = running.upstream.watch_resource(uri, wanted);
        let agreed = timeout(WATCH_TIMEOUT, asked).await.unwrap_or_else(|_| {
            let message =
                format!("server `{server}` did not confirm the watch of a resource in time");
            Err(ToolError::new(Reason::CallTimeout, message).at_server(server))
        });
        if wanted && agreed.is_err() {
            watched.remove(uri);
            running.set_watched(watched.len());
        }
        agreed
    }
}
