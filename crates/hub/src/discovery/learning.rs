//! What calls show about a server: whether several clients can share it.

use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{ConfigHash, LearntFacts, ServerName, ServerRecord, ServerSpec, ShareScope};

use super::refresh::RefreshOutcome;
use crate::hub::Inner;
use crate::slots::ServerConnection;
use crate::telemetry::new_trace;

/// A list that changes this soon after a call is taken as changed by it.
const CHANGE_WINDOW: Duration = Duration::from_secs(1);
/// Servers announce their lists when they start, independently of the caller.
const START_TIME: Duration = Duration::from_secs(2);

impl Inner {
    /// Learns from what a server requested from clients during a call.
    pub(crate) fn learn_from(self: &Arc<Self>, running: &ServerConnection, server: &ServerName) {
        let requested = running.upstream.requested();
        let learnt = LearntFacts {
            // An instance of a single session may request what it wants.
            asks_clients: requested.input && running.scope != ShareScope::Session,
            asks_roots: requested.roots,
            changes_list: false,
            old_sse: false,
        };
        if learnt != LearntFacts::default() {
            self.learn(server, running.config, learnt);
        }
    }

    /// Whether a change of the list that is announced now may be the effect of a call.
    pub(super) fn may_be_changed_by_call(&self, running: &ServerConnection) -> bool {
        running.scope != ShareScope::Session
            && running.since.elapsed() > START_TIME
            && running.was_called_within(CHANGE_WINDOW)
    }

    /// Learns that a call changed the list of tools, if it did change.
    pub(super) fn learn_from_change(self: &Arc<Self>, spec: &ServerSpec, outcome: &RefreshOutcome) {
        let Ok(refreshed) = &outcome.result else {
            return;
        };
        if !refreshed.delta.is_empty() {
            let learnt = LearntFacts {
                changes_list: true,
                ..LearntFacts::default()
            };
            self.learn(&spec.name, spec.hash, learnt);
        }
    }

    /// Adds facts to the server's record and stores it. The scope of running instances does not change.
    fn learn(self: &Arc<Self>, server: &ServerName, config: ConfigHash, facts: LearntFacts) {
        let is_new = |record: &ServerRecord| {
            record.config == config && record.learnt.and(facts) != record.learnt
        };
        let catalog = self.catalog.load();
        // Every call asks; almost none has news.
        let present = catalog.server(server);
        if !present.is_some_and(|entry| is_new(&entry.record)) {
            return;
        }
        let revised = self.revise(server, |record| {
            is_new(record).then(|| ServerRecord {
                learnt: record.learnt.and(facts),
                ..record.clone()
            })
        });
        if let Some(record) = revised {
            let inner = self.clone();
            self.tasks.spawn(async move {
                let stored = inner.store.save(&record).await;
                inner.record_stored(&record.server, stored.as_ref().copied(), &new_trace());
            });
        }
    }
}
