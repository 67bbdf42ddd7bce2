//! A server's request for roots on its way to the session whose roots it has.

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

/// How long a server may take to answer the message by which it is seen whether it asks for roots.
const PING_TIME: Duration = Duration::from_secs(1);
/// How long the client may take to answer before the first call is sent without roots.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How long a server is given to take in the roots that it got: it looks at folders, and does not say when it is done.
const TAKEN_TIME: Duration = Duration::from_millis(200);

/// A request for roots that waits for its answer.
pub(crate) struct RootsRequest {
    pub(crate) callers: Arc<CallerRegistry>,
    pub(crate) id: Box<RawValue>,
    pub(crate) params: Option<Box<RawValue>>,
}

impl RootsRequest {
    /// Asks the session that the roots are of; the frame that answers the server.
    pub(crate) async fn put(self) -> Option<String> {
        let roots = &self.callers.roots;
        let _answering = roots.open();
        let found = match roots.owner() {
            // It may have a call running, and other roots by now.
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
            // A client that does not answer: what it said before still holds.
            _ => roots.known(),
        };
        Some(result_response(&self.id, known.get()))
    }
}

impl StdioRpc {
    /// Lets the first call of a process settle the roots before it is sent: a server that asks for them beside its
    /// first call would run that call without them.
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
        // A server answers in order: what it asks for at its start comes before the answer to this.
        let id = self.new_id();
        let ping = self.request(id, request(id, "ping", "{}"), ResponseSize::Frame, false);
        let _ = timeout(PING_TIME, ping).await;
        if let Ok(true) = timeout(ANSWER_TIME, claim.answered()).await {
            tokio::time::sleep(TAKEN_TIME).await;
        }
    }
}
