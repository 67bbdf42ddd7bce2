//! Our own requests to a client: what a server asked for in the middle of a call.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_model::RpcError;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::conversation::{MessageSink, lock};
use crate::members::quoted;
use crate::response::{code, rpc};

/// ClientRequests that one client may have open at once.
const MAX_PENDING: usize = 64;

type ClientResponse = Result<Box<RawValue>, RpcError>;

/// The open questions of one conversation.
#[derive(Default)]
pub(crate) struct ClientRequests {
    next: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<ClientResponse>>>,
}

impl ClientRequests {
    /// Asks the client and waits for its answer, however long it takes. Dropping it takes the question back.
    pub(crate) async fn ask(
        &self,
        sink: &dyn MessageSink,
        method: &str,
        params: Option<&RawValue>,
    ) -> ClientResponse {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        {
            let mut open = lock(&self.open);
            if open.len() >= MAX_PENDING {
                return Err(rpc(
                    code::INTERNAL,
                    "the client has too many questions open",
                ));
            }
            open.insert(id, sender);
        }
        let mut asked = PendingRequest {
            questions: self,
            sink,
            id,
            is_sent: false,
        };
        let params = params.map(|params| format!(r#","params":{}"#, params.get()));
        let params = params.unwrap_or_default();
        let method = quoted(method);
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#);
        if !sink.send(message) {
            return Err(rpc(code::INTERNAL, "the client is gone"));
        }
        asked.is_sent = true;
        let answer = answer.await;
        asked.is_sent = false;
        answer.unwrap_or_else(|_| Err(rpc(code::INTERNAL, "the client is gone")))
    }

    /// The client answered.
    pub(crate) fn answered(&self, id: u64, answer: ClientResponse) {
        if let Some(asker) = lock(&self.open).remove(&id) {
            // Whoever asked may be gone.
            let _ = asker.send(answer);
        }
    }

    /// Nobody will answer any more.
    pub(crate) fn close(&self) {
        lock(&self.open).clear();
    }
}

struct PendingRequest<'a> {
    questions: &'a ClientRequests,
    sink: &'a dyn MessageSink,
    id: u64,
    is_sent: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        lock(&self.questions.open).remove(&self.id);
        if self.is_sent {
            let id = self.id;
            self.sink.send(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no longer needed"}}}}"#
            ));
        }
    }
}
