//! Requests of servers for roots, answered by the session that owns the server's roots.

use std::sync::Arc;
use std::time::Duration;

use pegboard_jsonrpc::{request, result_response};
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::callers::CallerRegistry;
use crate::capabilities::declares;
use crate::stdio_rpc::StdioRpc;
use crate::transport::{CallOrigin, ResponseSize};

pub(crate) const METHOD: &str = "roots/list";

/// How long a server may take to answer the ping that shows whether it requests roots.
const PING_TIME: Duration = Duration::from_secs(1);
/// How long the client may take before the first call is sent without roots.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long a server gets to process the roots: it inspects folders and does not report when it is done.
const TAKEN_TIME: Duration = Duration::from_millis(200);

/// A request for roots that waits for its response.
pub(crate) struct RootsRequest {
    pub(crate) callers: Arc<CallerRegistry>,
    pub(crate) id: Box<RawValue>,
    pub(crate) params: Option<Box<RawValue>>,
}

impl RootsRequest {
    /// Asks the session that owns the roots. Returns the frame with the response for the server.
    pub(crate) async fn put(self) -> Option<String> {
        let roots = &self.callers.roots;
        let _answering = roots.open();
        let found = match roots.owner() {
            // It may have a running call, and different roots by now.
            Some(owner) => self.callers.running_of(&owner),
            None => roots.when_called(|| self.callers.rooted()).await,
        };
        let Some((call, present)) = found else {
            return Some(result_response(&self.id, roots.known().get()));
        };
        let session = present.caller.session().to_owned();
        let params = self.params.as_deref();
        let question = self
            .callers
            .open_question(call, present, &self.id, METHOD, params);
        let answer = match question {
            Ok(question) => question.answer().await,
            Err(_) => None,
        };
        let known = match answer {
            Some(Ok(answer)) => roots.learn(&session, &answer),
            // The client does not answer: its previous answer still holds.
            _ => roots.known(),
        };
        Some(result_response(&self.id, known.get()))
    }
}

impl StdioRpc {
    /// Lets the first call settle the roots before it is sent: a server that requests them in parallel to its first
    /// call would run that call without them.
    pub(crate) async fn settle_roots(&self, origin: CallOrigin<'_>) {
        let callers = &self.inbound.callers;
        let has_roots = declares(origin.caller.capabilities(), METHOD, None);
        let Some(claim) = has_roots.then(|| callers.roots.claim()).flatten() else {
            return callers.roots.settled().await;
        };
        let _running = callers.enter(self.new_id(), origin);
        if claim.is_outdated {
            self.notify("notifications/roots/list_changed", "{}").await;
        }
        // A server responds in order: its requests at startup come before the response to this ping.
        let id = self.new_id();
        let ping = self.request(id, request(id, "ping", "{}"), ResponseSize::Frame, false);
        let _ = timeout(PING_TIME, ping).await;
        if let Ok(true) = timeout(ANSWER_TIME, claim.answered()).await {
            tokio::time::sleep(TAKEN_TIME).await;
        }
    }
}
