//! Resources that a running server created for a session: new since it started, and linked in the result of a call.
//! The session reads them through its link. They end with the server's process, so they are neither listed nor
//! stored.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use pegboard_model::{Limits, Offers, ServerName, ServerRecord, TraceId};

use crate::calls::SessionId;
use crate::hub::Inner;
use crate::sync::lock;

/// The session resources of one run of a server.
pub(crate) struct SessionResources(Mutex<State>);

struct State {
    /// The list from before the server started, or its first one.
    before: Option<Arc<Offers>>,
    /// Resources that were linked in the results of calls.
    linked: BTreeSet<String>,
}

impl SessionResources {
    pub(crate) fn new(known: &ServerRecord) -> Self {
        Self(Mutex::new(State {
            before: known.is_known().then(|| known.offers.clone()),
            linked: BTreeSet::new(),
        }))
    }

    fn add_links(&self, uris: Vec<String>, limits: &Limits) {
        let mut state = lock(&self.0);
        for uri in uris {
            if state.linked.len() < limits.resource_links {
                state.linked.insert(uri);
            }
        }
    }

    /// Returns the lists without the resources that were created for a session.
    pub(crate) fn without(&self, offers: Arc<Offers>) -> Arc<Offers> {
        let mut state = lock(&self.0);
        let before = state.before.get_or_insert_with(|| offers.clone()).clone();
        let is_of_session = |uri: &String| {
            let known = |resources: &[pegboard_model::Offer]| {
                resources
                    .binary_search_by(|offer| offer.key.cmp(uri))
                    .is_ok()
            };
            state.linked.contains(uri) && !known(&before.resources)
        };
        let resources = &offers.resources;
        if !resources.iter().any(|offer| is_of_session(&offer.key)) {
            return offers.clone();
        }
        let mut kept = Offers::clone(&offers);
        kept.resources.retain(|offer| !is_of_session(&offer.key));
        Arc::new(kept)
    }
}

impl Inner {
    /// Removes linked resources from the known list, unless they were listed before the server started. A server
    /// announces a new resource before its result links it, so the list may already contain it.
    pub(crate) fn withdraw_session_resources(
        self: &Arc<Self>,
        server: &ServerName,
        session: &SessionId,
        uris: Vec<String>,
        trace: &TraceId,
    ) {
        let running = self.connection_of(server, session);
        let Some(running) = running.filter(|_| !uris.is_empty()) else {
            return;
        };
        running.session_resources.add_links(uris, &self.limits);
        let revised = self.revise(server, |record| {
            let offers = running.session_resources.without(record.offers.clone());
            (!Arc::ptr_eq(&offers, &record.offers)).then(|| ServerRecord {
                offers,
                ..record.clone()
            })
        });
        if let Some(record) = revised {
            let (inner, trace) = (self.clone(), *trace);
            self.tasks.spawn(async move {
                let stored = inner.store.save(&record).await;
                inner.record_stored(&record.server, stored.as_ref().copied(), &trace);
            });
        }
    }
}
