//! The clients whose calls run on one connection, and what the server sends to them during a call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pegboard_jsonrpc::{code, paired, present, repaired};
use pegboard_model::RpcError;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::capabilities::declares;
use crate::client_request::{ClientRequest, StopReason};
use crate::contract::Caller;
use crate::listeners::Listeners;
use crate::response_timer::CallActivity;
use crate::roots::Roots;
use crate::transport::CallOrigin;

/// Requests of one server that may wait for clients at the same time.
const MAX_PENDING_REQUESTS: usize = 64;

/// The running calls of a connection and the requests that its server sent to their clients.
#[derive(Default)]
pub(crate) struct CallerRegistry {
    /// By the id of the call, so that the newest is the last.
    running: Mutex<BTreeMap<u64, ActiveCall>>,
    /// By the server's own request id.
    questions: Mutex<HashMap<String, PendingRequest>>,
    pub(crate) roots: Roots,
    /// The sessions that have made calls, for messages between calls.
    listeners: Listeners,
}

#[derive(Clone)]
pub(crate) struct ActiveCall {
    pub(crate) caller: Arc<dyn Caller>,
    activity: Arc<CallActivity>,
}

struct PendingRequest {
    call: u64,
    stop: oneshot::Sender<StopReason>,
}

/// The stream on which a message of a server arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageSource {
    /// The stream of this call.
    Call(u64),
    /// A stream that belongs to no call, while calls have their own streams.
    Aside,
    /// The only stream of the connection.
    Shared,
}

impl CallerRegistry {
    /// Registers a call. Dropping the returned guard ends it, together with the client requests that belong to it.
    pub(crate) fn enter<'a>(&'a self, call: u64, origin: CallOrigin<'_>) -> RunningCall<'a> {
        let present = ActiveCall {
            caller: Arc::clone(origin.caller),
            activity: Arc::clone(origin.activity),
        };
        self.listeners.add(&present.caller);
        self.running().insert(call, present);
        self.roots.called();
        RunningCall {
            callers: self,
            call,
        }
    }

    /// Forwards progress to the call with this token. Returns `false` if no call wants it.
    pub(crate) fn progress(&self, params: Option<&RawValue>) -> bool {
        #[derive(Deserialize)]
        struct Progress<'a> {
            #[serde(
                borrow,
                default,
                rename = "progressToken",
                deserialize_with = "present"
            )]
            token: Option<&'a RawValue>,
        }
        let told = params.and_then(|params| {
            let token = serde_json::from_str::<Progress<'_>>(params.get())
                .ok()?
                .token?;
            Some((params, token.get().parse::<u64>().ok()?))
        });
        let Some((params, call)) = told else {
            return false;
        };
        let Some(present) = self.running().get(&call).cloned() else {
            return false;
        };
        let is_wanted = present.caller.wants_progress();
        if is_wanted {
            present.activity.touch();
            present
                .caller
                .progress(repaired(params).as_deref().unwrap_or(params));
        }
        is_wanted
    }

    /// Forwards a log message. On a stream of no call it goes to a client only if it is clear which one; if no call is
    /// running it goes to the sessions that called earlier.
    pub(crate) fn message(&self, params: &RawValue, place: MessageSource) {
        let present: Vec<_> = match place {
            MessageSource::Call(call) => self.running().get(&call).cloned().into_iter().collect(),
            MessageSource::Shared => self.running().values().cloned().collect(),
            MessageSource::Aside => match self.newest() {
                Ok((call, _)) => self.running().get(&call).cloned().into_iter().collect(),
                Err(_) if self.running().is_empty() => Vec::new(),
                Err(_) => return,
            },
        };
        let repaired = repaired(params);
        let params = repaired.as_deref().unwrap_or(params);
        if present.is_empty() && !matches!(place, MessageSource::Call(_)) {
            return self.listeners.message(params);
        }
        for present in present {
            present.caller.message(params);
        }
    }

    /// Opens a request of a legacy server to the client it is meant for. The error is our response to the server.
    pub(crate) fn question(
        self: &Arc<Self>,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        place: MessageSource,
    ) -> Result<ClientRequest, RpcError> {
        let (call, present) = match place {
            MessageSource::Call(call) => {
                let present = self.running().get(&call).cloned();
                (call, present.ok_or_else(no_active_call)?)
            }
            MessageSource::Aside | MessageSource::Shared => self.newest()?,
        };
        self.open_question(call, present, id, method, params)
    }

    /// Returns the newest call of a session.
    pub(crate) fn running_of(&self, session: &str) -> Option<(u64, ActiveCall)> {
        let running = self.running();
        let mut newest_first = running.iter().rev();
        let (call, present) =
            newest_first.find(|(_, present)| present.caller.session() == session)?;
        Some((*call, present.clone()))
    }

    /// Returns the newest call whose client supports roots, if it is clear which session is meant.
    pub(crate) fn rooted(&self) -> Option<(u64, ActiveCall)> {
        let (call, present) = self.newest().ok()?;
        let has_roots = declares(present.caller.capabilities(), "roots/list", None);
        has_roots.then_some((call, present))
    }

    /// Opens a request to the client of one call.
    pub(crate) fn open_question(
        self: &Arc<Self>,
        call: u64,
        ActiveCall { caller, activity }: ActiveCall,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<ClientRequest, RpcError> {
        if !declares(caller.capabilities(), method, params) {
            let what = format!(
                "the client of this call does not support `{method}`, or it is disabled for this server"
            );
            return Err(refused(code::METHOD_NOT_FOUND, what));
        }
        let (stop, stopped) = oneshot::channel();
        let key = id.get().to_owned();
        {
            let mut questions = self.questions();
            if questions.len() >= MAX_PENDING_REQUESTS {
                let what =
                    format!("{MAX_PENDING_REQUESTS} requests are already waiting for clients");
                return Err(refused(code::INTERNAL_ERROR, what));
            }
            if questions.contains_key(&key) {
                let what = "a request with this id is already pending";
                return Err(refused(code::INTERNAL_ERROR, what.to_owned()));
            }
            questions.insert(key.clone(), PendingRequest { call, stop });
        }
        activity.question_opened();
        if !self.running().contains_key(&call) {
            // The call ended between the lookup and the insertion.
            self.end_questions(call);
        }
        Ok(ClientRequest {
            caller,
            id: id.to_owned(),
            method: method.to_owned(),
            params: params.map(|params| paired(params.to_owned())),
            stopped,
            open: ClientRequestGuard {
                callers: Arc::clone(self),
                key,
                activity,
            },
        })
    }

    /// Handles the server's cancellation of its request.
    pub(crate) fn withdraw(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, default, rename = "requestId", deserialize_with = "present")]
            id: Option<&'a RawValue>,
        }
        let id = params
            .and_then(|params| serde_json::from_str::<Cancelled<'_>>(params.get()).ok())
            .and_then(|cancelled| cancelled.id);
        if let Some(open) = id.and_then(|id| self.questions().remove(id.get())) {
            let _ = open.stop.send(StopReason::Withdrawn);
        }
    }

    /// Ends all pending client requests, because the connection is closed.
    pub(crate) fn close(&self) {
        for (_, open) in std::mem::take(&mut *self.questions()) {
            let _ = open.stop.send(StopReason::Withdrawn);
        }
    }

    /// Returns the newest call, if all calls that may have caused the request belong to one session. A call that waits
    /// for its client cannot send another request, so it counts only if there is no other call.
    fn newest(&self) -> Result<(u64, ActiveCall), RpcError> {
        let waiting: Vec<u64> = self.questions().values().map(|open| open.call).collect();
        let running = self.running();
        let free = |call: &u64| !waiting.contains(call);
        let is_any_free = running.keys().any(free);
        let mut candidates = (running.iter()).filter(|(call, _)| !is_any_free || free(call));
        let (call, newest) = candidates.next_back().ok_or_else(no_active_call)?;
        let session = newest.caller.session();
        if candidates.any(|(_, present)| present.caller.session() != session) {
            let what = "calls of several clients are running, so the recipient is ambiguous";
            return Err(refused(code::INTERNAL_ERROR, what.to_owned()));
        }
        Ok((*call, newest.clone()))
    }

    fn end_questions(&self, call: u64) {
        let ended: Vec<_> = {
            let mut questions = self.questions();
            questions
                .extract_if(|_, open| open.call == call)
                .map(|(_, open)| open.stop)
                .collect()
        };
        for stop in ended {
            let _ = stop.send(StopReason::CallEnded);
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<u64, ActiveCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, HashMap<String, PendingRequest>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_active_call() -> RpcError {
    let what = "no client call is running that could receive this request";
    refused(code::METHOD_NOT_FOUND, what.to_owned())
}

fn refused(code: i64, message: String) -> RpcError {
    RpcError {
        code,
        message,
        data: None,
    }
}

/// A running call of a client. Dropping it ends the call.
pub(crate) struct RunningCall<'a> {
    callers: &'a CallerRegistry,
    call: u64,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.callers.running().remove(&self.call);
        self.callers.end_questions(self.call);
    }
}

/// A pending client request. Dropping it removes the request from the list.
pub(crate) struct ClientRequestGuard {
    callers: Arc<CallerRegistry>,
    key: String,
    activity: Arc<CallActivity>,
}

impl Drop for ClientRequestGuard {
    fn drop(&mut self) {
        self.callers.questions().remove(&self.key);
        self.activity.question_closed();
    }
}
