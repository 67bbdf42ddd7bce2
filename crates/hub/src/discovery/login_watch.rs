//! Servers that wait for a login: they are not retried before a login, and discovered at once after it.

use std::sync::Arc;

use pegboard_catalog::ServerEntry;
use pegboard_model::{LoginState, Reason, ServerSpec, ToolError, Transport};
use pegboard_upstream::needs_login;

use super::Backoff;
use crate::hub::{Hub, Inner};
use crate::telemetry::TraceScope;

impl Hub {
    /// The state of a server's login; `None` if it requires none, as far as is known. Reads a small file.
    pub fn login_state(&self, entry: &ServerEntry) -> Option<LoginState> {
        self.inner.login_state(entry)
    }

    /// Discovers servers as soon as a login to them exists, made in this process or another one. Called once; later
    /// calls have no effect.
    pub fn watch_logins(&self) {
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let is_remote =
            |entry: &Arc<ServerEntry>| matches!(entry.spec.transport, Transport::Http { .. });
        if !self.catalog().servers().any(is_remote) || !self.inner.discovery.begin_watching_logins()
        {
            return;
        }
        let Some(mut changes) = self.inner.connector.login_changes() else {
            return;
        };
        changes.mark_unchanged();
        let inner = Arc::downgrade(&self.inner);
        self.inner.tasks.spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(inner) = inner.upgrade() else {
                    return;
                };
                inner.discover_logged_in();
            }
        });
    }
}

impl Inner {
    pub(crate) fn login_state(&self, entry: &ServerEntry) -> Option<LoginState> {
        if !matches!(entry.spec.transport, Transport::Http { .. }) {
            return None;
        }
        let failure = entry.record.last_error.as_ref().map(|error| error.reason);
        self.connector.login_state(&entry.spec, failure)
    }

    /// Whether trying a server again is pointless until a person logs in.
    pub(crate) fn waits_for_login(&self, entry: &ServerEntry) -> bool {
        let failure = entry.record.last_error.as_ref().map(|error| error.reason);
        failure.is_some_and(needs_login)
            && self
                .login_state(entry)
                .is_some_and(|state| state.needs_person())
    }

    /// Discovers the servers whose last attempt failed for want of a login that exists now.
    fn discover_logged_in(self: &Arc<Self>) {
        let catalog = self.catalog.load_full();
        let waiting = catalog.servers().filter(|entry| {
            let failure = entry.record.last_error.as_ref().map(|error| error.reason);
            failure.is_some_and(needs_login)
                && matches!(self.login_state(entry), Some(LoginState::LoggedIn { .. }))
                && super::refresh::may_start(&entry.spec).is_ok()
        });
        for entry in waiting {
            let (inner, spec) = (self.clone(), entry.spec.clone());
            self.tasks.spawn(async move {
                inner
                    .discover_once(spec, &TraceScope::new(), Backoff::Ignore)
                    .await;
            });
        }
    }

    /// A call found out that a server requires a login, although its list could be read: stores that, so that every
    /// list of servers shows it. The known tools stay.
    pub(crate) fn record_login_needed(self: &Arc<Self>, spec: &ServerSpec, error: &ToolError) {
        if error.reason != Reason::LoginNeeded {
            return;
        }
        let known = self.known_record(spec);
        let is_known = known
            .last_error
            .as_ref()
            .is_some_and(|last| last.reason == error.reason);
        if is_known || !known.is_known() {
            return;
        }
        let record = Arc::new(self.failure_record(&known, error));
        self.publish(&TraceScope::new(), record.clone(), false);
        let inner = self.clone();
        self.tasks.spawn_to_end(async move {
            if let Err(error) = inner.store.save(&record).await {
                tracing::warn!(target: "pegboard", server = %record.server, "cannot store the state: {error}");
            }
        });
    }
}
