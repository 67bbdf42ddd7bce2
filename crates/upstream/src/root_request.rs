//! Requests of servers for roots, answered by the session that owns the server's roots.

use std::sync::Arc;
use std::time::Duration;

use pegboard_jsonrpc::{request, result_response};
use serde_json::value::RawValue;
use tokio::time::timeout;

use crate::callers::CallerRegistry;
use crate::stdio_rpc::StdioRpc;
use crate::transport::{CallOrigin, ResponseSize};

pub(crate) const METHOD: &str = "roots/list";

/// How long a server may take to respond to the ping that shows whether it requests roots.
const PING_TIME: Duration = Duration::from_secs(1);
/// How long the client may take before the first call is sent without roots.
const CLIENT_TIME: Duration = Duration::from_secs(5);
/// How long a server gets to process the roots: it inspects folders and does not report when it is done.
const TAKEN_TIME: Duration = Duration::from_millis(200);

/// A request for roots that waits for its response.
pub(crate) struct RootsRequest {
    pub(crate) callers: Arc<CallerRegistry>,
    pub(crate) id: Box<RawValue>,
    pub(crate) params: Option<Box<RawValue>>,
}

impl RootsRequest {
    /// Requests the roots from the session that owns them. Returns the frame with the response for the server.
    pub(crate) async fn respond(self) -> Option<String> {
        let roots = &self.callers.roots;
        let _answering = roots.open();
        let found = match roots.owner() {
            // It may have a running call, and different roots by now.
            Some(owner) => self.callers.newest_call_of(&owner),
            None => {
                roots
                    .when_called(|| self.callers.newest_call_with_roots())
                    .await
            }
        };
        let Some((call, active)) = found else {
            return Some(result_response(&self.id, roots.known().get()));
        };
        let session = active.caller.session().to_owned();
        let params = self.params.as_deref();
        let question = self
            .callers
            .open_request(call, active, &self.id, METHOD, params);
        let response = match question {
            Ok(question) => question.response().await,
            Err(_) => None,
        };
        let known = match response {
            Some(Ok(response)) => roots.store(&session, &response),
            // The client did not respond: its previous response stays valid.
            _ => roots.known(),
        };
        Some(result_response(&self.id, known.get()))
    }
}

impl StdioRpc {
    /// Delivers the roots before the first call is sent: a server that requests them in parallel to its first
    /// call would run that call without them.
    pub(crate) async fn settle_roots(&self, origin: CallOrigin<'_>) {
        let callers = &self.inbound.callers;
        let has_roots = origin.caller.capabilities().supports(METHOD, None);
        let Some(claim) = has_roots.then(|| callers.roots.claim()).flatten() else {
            return callers.roots.settled().await;
        };
        let _running = callers.begin_call(self.new_id(), origin);
        if claim.is_outdated {
            self.notify("notifications/roots/list_changed", "{}").await;
        }
        // A server responds in order: its requests at startup come before the response to this ping.
        let id = self.new_id();
        let ping = self.request(id, request(id, "ping", "{}"), ResponseSize::Frame, false);
        let _ = timeout(PING_TIME, ping).await;
        if let Ok(true) = timeout(CLIENT_TIME, claim.answered()).await {
            tokio::time::sleep(TAKEN_TIME).await;
        }
    }
}
