//! Who watches which resource, so that a server is asked once however many watch.

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

/// How long a server may take to agree; others who watch wait behind it.
const WATCH_TIMEOUT: Duration = Duration::from_secs(30);

/// The wishes of all sessions. They outlast a server's process, which is asked again when it is back.
#[derive(Default)]
pub(super) struct ResourceWatches(BTreeMap<ServerName, BTreeMap<String, HashSet<SessionId>>>);

impl ResourceWatches {
    /// Notes a wish; whether it is a new one.
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
        let (limit, whose) = if own >= limits.subscriptions_per_session {
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
        let message = format!("{whose} may watch {limit} resources, and they are used up");
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

    /// Takes out all wishes of a session; the servers that had some.
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
    /// Begins or ends a session's watch over a resource, by the server's own uri. The server is asked for the
    /// first who watches and told after the last; while anyone watches, it is not stopped as idle, and after a
    /// restart it is asked again. What it tells comes by [`Hub::announcements`].
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
            let slot = inner.slots.get(server);
            return match slot.and_then(|slot| slot.running()) {
                Some(running) => inner.sync_watch(&running, server, uri).await,
                None => Ok(()),
            };
        }
        if uri.len() > inner.limits.offer_key_bytes {
            let limit = inner.limits.offer_key_bytes;
            let message = format!("a resource's uri has at most {limit} bytes");
            return Err(ToolError::new(Reason::ResourceUnknown, message).at_server(server));
        }
        let entry = inner.usable(server)?;
        let trace = TraceScope::new();
        inner.gate_watch(&entry, uri, &trace).await?;
        let is_new = lock(&inner.sessions.watches).add(session, server, uri, &inner.limits)?;
        // Taken back also when the caller goes away before the server answered.
        let pending = PendingWatch {
            inner,
            session,
            server,
            uri,
            kept: !is_new,
        };
        let slot = inner.slots.get_or_create(server);
        let hold = inner.hold_for_call(&slot, &entry, &trace).await?;
        let agreed = inner.sync_watch(hold.running(), server, uri).await;
        inner.record_result(&slot, &hold, &agreed);
        agreed.map(|()| pending.keep())
    }
}

/// A new wish, dropped again unless it is kept.
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
            // A restart may have asked the server for it meanwhile.
            self.inner.sync_watches_in_background(self.server);
        }
    }
}

impl Inner {
    /// Asks a server that was just started for what is watched, and keeps it running for that.
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
        hold.mark_called();
        let (inner, server) = (self.clone(), server.clone());
        self.tasks.spawn(async move {
            inner.sync_watches(hold.running(), &server).await;
        });
    }

    /// Tells a running server, without waiting, what is no longer wished.
    pub(super) fn sync_watches_in_background(self: &Arc<Self>, server: &ServerName) {
        let slot = self.slots.get(server);
        let running = slot.and_then(|slot| slot.running());
        // Without a runtime everything is ending, and the server with it.
        let runtime = tokio::runtime::Handle::try_current();
        if let (Some(running), Ok(_)) = (running, runtime) {
            let (inner, server) = (self.clone(), server.clone());
            self.tasks.spawn(async move {
                inner.sync_watches(&running, &server).await;
            });
        }
    }

    async fn sync_watches(&self, running: &ServerConnection, server: &ServerName) {
        let mut uris = lock(&self.sessions.watches).uris(server);
        uris.extend(running.watched.lock().await.iter().cloned());
        for uri in uris {
            if let Err(error) = self.sync_watch(running, server, &uri).await {
                tracing::warn!(target: "pegboard", %server, "a resource is not watched: {error}");
            }
        }
    }

    /// Brings what a connection was asked for to what is wished now. One at a time for each connection, so that
    /// the last wish is what the server knows.
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
            uris.is_some_and(|uris| uris.contains_key(uri))
        };
        if wanted == watched.contains(uri) {
            return Ok(());
        }
        // Noted first. What is no longer wished is forgotten, because a server that is gone, or that refuses,
        // tells nothing about it any more either. What is wished may have reached the server when whoever waits
        // here goes away, so it has to be taken back then.
        match wanted {
            true => watched.insert(uri.to_owned()),
            false => watched.remove(uri),
        };
        running.set_watched(watched.len());
        let asked = running.upstream.watch_resource(uri, wanted);
        let agreed = timeout(WATCH_TIMEOUT, asked).await.unwrap_or_else(|_| {
            let message = format!("server `{server}` did not answer about a resource to watch");
            Err(ToolError::new(Reason::CallTimeout, message).at_server(server))
        });
        if wanted && agreed.is_err() {
            watched.remove(uri);
            running.set_watched(watched.len());
        }
        agreed
    }
}
