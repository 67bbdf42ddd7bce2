//! JSON-RPC requests that we send to a client, on behalf of servers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_model::RpcError;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::conversation::{MessageSink, lock};
use crate::members::quoted;
use crate::response::{code, rpc};

/// Maximum number of open requests per client.
const MAX_PENDING: usize = 64;

type ClientResponse = Result<Box<RawValue>, RpcError>;

/// The open requests to one client.
#[derive(Default)]
pub(crate) struct ClientRequests {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, oneshot::Sender<ClientResponse>>>,
}

impl ClientRequests {
    /// Sends a request and waits for the response, without a timeout. Dropping the future cancels the request.
    pub(crate) async fn send(
        &self,
        sink: &dyn MessageSink,
        method: &str,
        params: Option<&RawValue>,
    ) -> ClientResponse {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, response) = oneshot::channel();
        {
            let mut pending = lock(&self.pending);
            if pending.len() >= MAX_PENDING {
                return Err(rpc(
                    code::INTERNAL_ERROR,
                    "the client has too many open requests",
                ));
            }
            pending.insert(id, sender);
        }
        let mut pending_request = PendingRequest {
            requests: self,
            sink,
            id,
            is_sent: false,
        };
        let params = params.map(|params| format!(r#","params":{}"#, params.get()));
        let params = params.unwrap_or_default();
        let method = quoted(method);
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#);
        if !sink.send(message) {
            return Err(rpc(code::INTERNAL_ERROR, "the client is gone"));
        }
        pending_request.is_sent = true;
        let response = response.await;
        pending_request.is_sent = false;
        response.unwrap_or_else(|_| Err(rpc(code::INTERNAL_ERROR, "the client is gone")))
    }

    /// Delivers a response of the client.
    pub(crate) fn resolve(&self, id: u64, response: ClientResponse) {
        if let Some(sender) = lock(&self.pending).remove(&id) {
            // The task that sent the request may be gone.
            let _ = sender.send(response);
        }
    }

    /// Fails all open requests, because the client is gone.
    pub(crate) fn close(&self) {
        lock(&self.pending).clear();
    }
}

struct PendingRequest<'a> {
    requests: &'a ClientRequests,
    sink: &'a dyn MessageSink,
    id: u64,
    is_sent: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        lock(&self.requests.pending).remove(&self.id);
        if self.is_sent {
            let id = self.id;
            self.sink.send(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no longer needed"}}}}"#
            ));
        }
    }
}
