//! The clients whose calls run on one connection, and what the server sends to them during a call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pegboard_jsonrpc::{code, paired, present, repaired, rpc_error};
use pegboard_model::RpcError;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

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
    requests: Mutex<HashMap<String, PendingRequest>>,
    pub(crate) roots: Roots,
    /// The sessions that have made calls, for messages between calls.
    listeners: Listeners,
}

/// A running call: its client, and its activity timer.
#[derive(Clone)]
pub(crate) struct ActiveCall {
    pub(crate) caller: Arc<dyn Caller>,
    activity: Arc<CallActivity>,
}

/// A request to the client of `call` that has no response yet.
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
    Side,
    /// The only stream of the connection.
    Shared,
}

impl CallerRegistry {
    /// Registers a call. Dropping the returned guard ends it, together with the client requests that belong to it.
    pub(crate) fn begin_call<'a>(&'a self, call: u64, origin: CallOrigin<'_>) -> RunningCall<'a> {
        let active = ActiveCall {
            caller: Arc::clone(origin.caller),
            activity: Arc::clone(origin.activity),
        };
        self.listeners.add(&active.caller);
        self.running().insert(call, active);
        self.roots.call_began();
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
        let progress = params.and_then(|params| {
            let token = serde_json::from_str::<Progress<'_>>(params.get())
                .ok()?
                .token?;
            Some((params, token.get().parse::<u64>().ok()?))
        });
        let Some((params, call)) = progress else {
            return false;
        };
        let Some(active) = self.running().get(&call).cloned() else {
            return false;
        };
        let is_wanted = active.caller.wants_progress();
        if is_wanted {
            active.activity.touch();
            active
                .caller
                .progress(repaired(params).as_deref().unwrap_or(params));
        }
        is_wanted
    }

    /// Forwards a log message. On a stream of no call it goes to a client only if it is clear which session is meant; if
    /// no call is running it goes to the sessions that called earlier.
    pub(crate) fn message(&self, params: &RawValue, source: MessageSource) {
        let active: Vec<_> = match source {
            MessageSource::Call(call) => self.running().get(&call).cloned().into_iter().collect(),
            MessageSource::Shared => match self.calls_of_one_session() {
                Some(active) => active,
                None => return,
            },
            MessageSource::Side => match self.newest() {
                Ok((call, _)) => self.running().get(&call).cloned().into_iter().collect(),
                Err(_) if self.running().is_empty() => Vec::new(),
                Err(_) => return,
            },
        };
        let repaired = repaired(params);
        let params = repaired.as_deref().unwrap_or(params);
        if active.is_empty() && !matches!(source, MessageSource::Call(_)) {
            return self.listeners.message(params);
        }
        for active in active {
            active.caller.message(params);
        }
    }

    /// Opens a request of a legacy server to the client it is meant for. The error is our response to the server.
    pub(crate) fn request_client(
        self: &Arc<Self>,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
        source: MessageSource,
    ) -> Result<ClientRequest, RpcError> {
        let (call, active) = match source {
            MessageSource::Call(call) => {
                let active = self.running().get(&call).cloned();
                (call, active.ok_or_else(no_active_call)?)
            }
            MessageSource::Side | MessageSource::Shared => self.newest()?,
        };
        self.open_request(call, active, id, method, params)
    }

    /// Returns the newest call of a session.
    pub(crate) fn newest_call_of(&self, session: &str) -> Option<(u64, ActiveCall)> {
        let running = self.running();
        let mut newest_first = running.iter().rev();
        let (call, active) = newest_first.find(|(_, active)| active.caller.session() == session)?;
        Some((*call, active.clone()))
    }

    /// Returns the newest call whose client supports roots, if it is clear which session is meant.
    pub(crate) fn newest_call_with_roots(&self) -> Option<(u64, ActiveCall)> {
        let (call, active) = self.newest().ok()?;
        let has_roots = (active.caller.capabilities()).supports("roots/list", None);
        has_roots.then_some((call, active))
    }

    /// Opens a request to the client of one call.
    pub(crate) fn open_request(
        self: &Arc<Self>,
        call: u64,
        ActiveCall { caller, activity }: ActiveCall,
        id: &RawValue,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<ClientRequest, RpcError> {
        if !caller.capabilities().supports(method, params) {
            let what = format!(
                "the client of this call does not support `{method}`, or it is disabled for this server"
            );
            return Err(rpc_error(code::METHOD_NOT_FOUND, what));
        }
        let (stop, stopped) = oneshot::channel();
        let key = id.get().to_owned();
        {
            let mut requests = self.requests();
            if requests.len() >= MAX_PENDING_REQUESTS {
                let what =
                    format!("{MAX_PENDING_REQUESTS} requests are already waiting for clients");
                return Err(rpc_error(code::INTERNAL_ERROR, what));
            }
            if requests.contains_key(&key) {
                let what = "a request with this id is already pending";
                return Err(rpc_error(code::INTERNAL_ERROR, what));
            }
            requests.insert(key.clone(), PendingRequest { call, stop });
        }
        activity.client_wait_began();
        if !self.running().contains_key(&call) {
            // The call ended between the lookup and the insertion.
            self.end_requests(call);
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
        if let Some(open) = id.and_then(|id| self.requests().remove(id.get())) {
            let _ = open.stop.send(StopReason::Withdrawn);
        }
    }

    /// Ends all pending client requests, because the connection is closed.
    pub(crate) fn close(&self) {
        for (_, open) in std::mem::take(&mut *self.requests()) {
            let _ = open.stop.send(StopReason::Withdrawn);
        }
    }

    /// Returns the newest call, if all calls that may have caused the request belong to one session. A call that waits
    /// for its client cannot send another request, so it counts only if there is no other call.
    fn newest(&self) -> Result<(u64, ActiveCall), RpcError> {
        let waiting: Vec<u64> = self.requests().values().map(|open| open.call).collect();
        let running = self.running();
        let free = |call: &u64| !waiting.contains(call);
        let is_any_free = running.keys().any(free);
        let mut candidates = (running.iter()).filter(|(call, _)| !is_any_free || free(call));
        let (call, newest) = candidates.next_back().ok_or_else(no_active_call)?;
        let session = newest.caller.session();
        if candidates.any(|(_, active)| active.caller.session() != session) {
            let what = "calls of several clients are running, so the recipient is ambiguous";
            return Err(rpc_error(code::INTERNAL_ERROR, what));
        }
        Ok((*call, newest.clone()))
    }

    /// Returns the running calls if all of them belong to one session.
    fn calls_of_one_session(&self) -> Option<Vec<ActiveCall>> {
        let running = self.running();
        let mut calls = running.values();
        let one = calls.next().map(|active| active.caller.session());
        let is_one = calls.all(|active| Some(active.caller.session()) == one);
        is_one.then(|| running.values().cloned().collect())
    }

    fn end_requests(&self, call: u64) {
        let ended: Vec<_> = {
            let mut requests = self.requests();
            requests
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

    fn requests(&self) -> MutexGuard<'_, HashMap<String, PendingRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_active_call() -> RpcError {
    let what = "no client call is running that could receive this request";
    rpc_error(code::METHOD_NOT_FOUND, what)
}

/// A running call of a client. Dropping it ends the call.
pub(crate) struct RunningCall<'a> {
    callers: &'a CallerRegistry,
    call: u64,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.callers.running().remove(&self.call);
        self.callers.end_requests(self.call);
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
        self.callers.requests().remove(&self.key);
        self.activity.client_wait_ended();
    }
}
