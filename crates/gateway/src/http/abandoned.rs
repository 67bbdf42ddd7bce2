//! Requests of legacy clients whose connections are closed.
//!
//! In revisions with sessions, a lost connection does not cancel a request: the client may reconnect and read the
//! response. Requests of clients that do not reconnect are cancelled after a while, and their number is limited, so
//! that they do not occupy a server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pegboard_model::Limits;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::HttpState;
use super::event_stream::EventStream;
use super::headers;
use super::legacy::SessionRef;
use super::pending::ResponseFuture;
use super::replay::ReplayStore;
use crate::conversation::lock;
use crate::response::{Response, code, rpc};

/// The error for a client that reconnects too late.
const ABANDONED_MESSAGE: &str =
    "the request was cancelled because its client disconnected and did not reconnect in time";

/// Running requests without a connected client.
pub(super) struct AbandonedRequests {
    limits: Arc<Limits>,
    waiting: Mutex<WaitingRequests>,
}

#[derive(Default)]
struct WaitingRequests {
    next: u64,
    /// Oldest first.
    requests: VecDeque<Request>,
}

struct Request {
    number: u64,
    session: Arc<str>,
    stream: Arc<EventStream>,
    /// Dropping it cancels the request.
    _keep: oneshot::Sender<()>,
}

/// What a request needs to continue without its connection.
pub(super) struct DetachedContext {
    abandoned: Arc<AbandonedRequests>,
    replay: Arc<ReplayStore>,
    session: SessionRef,
    /// The id of the request, or the ids of all requests of a batch.
    ids: RequestIds,
}

/// The ids that an error response must contain.
pub(super) enum RequestIds {
    One(Option<Box<RawValue>>),
    Batch(Vec<Box<RawValue>>),
}

impl RequestIds {
    fn refusal(&self) -> Response {
        let refuse = |id: Option<&RawValue>| {
            let error = rpc(code::INTERNAL_ERROR, ABANDONED_MESSAGE);
            Response::error(id, 200, &error)
        };
        match self {
            Self::One(id) => refuse(id.as_deref()),
            Self::Batch(ids) => {
                let errors = ids.iter().map(|id| refuse(Some(id)).into_bytes());
                Response::batch(errors.map(|error| vec![error]))
            }
        }
    }
}

impl DetachedContext {
    pub(super) fn new(state: &HttpState, session: SessionRef, ids: RequestIds) -> Self {
        Self {
            abandoned: state.abandoned.clone(),
            replay: state.replay.clone(),
            session,
            ids,
        }
    }

    /// Keeps the stream of a request for a client that reconnects. Called before the client reads it.
    pub(super) fn keep_stream(&self, stream: &Arc<EventStream>) {
        let SessionRef { id, conversation } = &self.session;
        if headers::supports_priming(conversation.revision()) {
            stream.prime();
        }
        self.replay.get(id, conversation).insert(stream.clone());
    }

    /// Continues a request whose connection is closed, until it completes or is cancelled.
    pub(super) fn detach(self, response: ResponseFuture, stream: Arc<EventStream>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (guard, evicted) = self.abandoned.add(&self.session.id, &stream);
        runtime.spawn(async move {
            let outcome = tokio::select! {
                biased;
                response = response => Some(response),
                () = self.abandoned.expired(&stream, evicted) => None,
            };
            drop(guard);
            match outcome {
                Some(Some(response)) => stream.finish(response.parts),
                Some(None) => stream.end(),
                None => stream.finish(self.ids.refusal().parts),
            }
        });
    }
}

/// Removes a request from the table when dropped.
struct WaitingGuard {
    abandoned: Arc<AbandonedRequests>,
    number: u64,
}

impl Drop for WaitingGuard {
    fn drop(&mut self) {
        let mut waiting = lock(&self.abandoned.waiting);
        waiting
            .requests
            .retain(|request| request.number != self.number);
    }
}

impl AbandonedRequests {
    pub(super) fn new(limits: Arc<Limits>) -> Self {
        Self {
            limits,
            waiting: Mutex::default(),
        }
    }

    /// Adds a request. Cancels the oldest one if there are too many, per session or in total.
    fn add(
        self: &Arc<Self>,
        session: &Arc<str>,
        stream: &Arc<EventStream>,
    ) -> (WaitingGuard, oneshot::Receiver<()>) {
        let (held, evicted) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        let number = waiting.next;
        waiting.next += 1;
        waiting.requests.push_back(Request {
            number,
            session: session.clone(),
            stream: stream.clone(),
            _keep: held,
        });
        waiting.limit(self.limits.abandoned_requests_per_session, |request| {
            request.session == *session
        });
        waiting.limit(self.limits.abandoned_requests, |_| true);
        drop(waiting);
        let abandoned = self.clone();
        (WaitingGuard { abandoned, number }, evicted)
    }

    /// Completes when a request must be cancelled: it was evicted, or its client did not reconnect in time.
    async fn expired(&self, stream: &EventStream, evicted: oneshot::Receiver<()>) {
        let unread = async {
            loop {
                tokio::time::sleep(self.limits.abandoned_request_time).await;
                if !stream.is_read() {
                    return;
                }
            }
        };
        tokio::select! {
            _ = evicted => {}
            () = unread => {}
        }
    }
}

impl WaitingRequests {
    /// Cancels the oldest requests beyond the limit. Requests whose clients reconnected do not count.
    fn limit(&mut self, max: usize, matches: impl Fn(&Request) -> bool) {
        let counts = |request: &Request| matches(request) && !request.stream.is_read();
        let count = self.requests.iter().filter(|one| counts(one)).count();
        let mut surplus = count.saturating_sub(max);
        self.requests.retain(|request| {
            let is_evicted = surplus > 0 && counts(request);
            surplus -= usize::from(is_evicted);
            !is_evicted
        });
    }
}
