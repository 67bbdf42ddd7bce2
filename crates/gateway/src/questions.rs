//! Our own requests to a client: what a server asked for in the middle of a call.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_model::RpcError;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::conversation::{Outlet, lock};
use crate::members::quoted;
use crate::response::{code, rpc};

/// Questions that one client may have open at once.
const MOST_OPEN: usize = 64;

type Answer = Result<Box<RawValue>, RpcError>;

/// The open questions of one conversation.
#[derive(Default)]
pub(crate) struct Questions {
    next: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
}

impl Questions {
    /// Asks the client and waits for its answer, however long it takes. Dropping it takes the question back.
    pub(crate) async fn ask(
        &self,
        outlet: &dyn Outlet,
        method: &str,
        params: Option<&RawValue>,
    ) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answer) = oneshot::channel();
        {
            let mut open = lock(&self.open);
            if open.len() >= MOST_OPEN {
                return Err(rpc(
                    code::INTERNAL,
                    "the client has too many questions open",
                ));
            }
            open.insert(id, sender);
        }
        let mut asked = Open {
            questions: self,
            outlet,
            id,
            is_sent: false,
        };
        let params = params.map(|params| format!(r#","params":{}"#, params.get()));
        let params = params.unwrap_or_default();
        let method = quoted(method);
        let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#);
        if !outlet.send(message) {
            return Err(rpc(code::INTERNAL, "the client is gone"));
        }
        asked.is_sent = true;
        let answer = answer.await;
        asked.is_sent = false;
        answer.unwrap_or_else(|_| Err(rpc(code::INTERNAL, "the client is gone")))
    }

    /// The client answered.
    pub(crate) fn answered(&self, id: u64, answer: Answer) {
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

struct Open<'a> {
    questions: &'a Questions,
    outlet: &'a dyn Outlet,
    id: u64,
    is_sent: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(&self.questions.open).remove(&self.id);
        if self.is_sent {
            let id = self.id;
            self.outlet.send(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"no longer needed"}}}}"#
            ));
        }
    }
}
