//! Requests of legacy clients whose connections are gone.
//!
//! In the revisions with sessions a lost connection does not cancel: a client may come back and read on. A client that
//! does not must not keep its place at a server for long, and only a few of its requests wait for it at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pegboard_model::Limits;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::event_stream::EventStream;
use super::pending::ResponseFuture;
use crate::conversation::lock;
use crate::response::{Response, code, rpc};

/// What a client finds that comes back too late.
const ABANDONED_MESSAGE: &str =
    "the request was given up because its client disconnected and did not come back in time";

/// The requests that wait for their clients.
pub(super) struct AbandonedRequests {
    limits: Arc<Limits>,
    waiting: Mutex<WaitingRequests>,
}

#[derive(Default)]
struct WaitingRequests {
    next: u64,
    /// The oldest first.
    requests: VecDeque<Request>,
}

struct Request {
    number: u64,
    session: Arc<str>,
    stream: Arc<EventStream>,
    /// Dropping it gives the request up.
    _held: oneshot::Sender<()>,
}

/// What a request needs to go on without its connection.
pub(super) struct DetachedContext {
    pub(super) abandoned: Arc<AbandonedRequests>,
    pub(super) session: Arc<str>,
    /// The ids of the request, or of all requests of a batch.
    pub(super) ids: RequestIds,
}

/// The ids that an error has to name.
pub(super) enum RequestIds {
    One(Option<Box<RawValue>>),
    Batch(Vec<Box<RawValue>>),
}

impl RequestIds {
    fn refusal(&self) -> Response {
        let refuse = |id: Option<&RawValue>| {
            let error = rpc(code::INTERNAL, ABANDONED_MESSAGE);
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
    /// Goes on with a request whose connection is gone, until it is answered or given up.
    pub(super) fn detach(self, answer: ResponseFuture, stream: Arc<EventStream>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let (place, given_up) = self.abandoned.add(&self.session, &stream);
        runtime.spawn(async move {
            let outcome = tokio::select! {
                biased;
                answer = answer => Some(answer),
                () = self.abandoned.expired(&stream, given_up) => None,
            };
            drop(place);
            match outcome {
                Some(Some(answer)) => stream.finish(answer.parts),
                Some(None) => stream.end(),
                None => stream.finish(self.ids.refusal().parts),
            }
        });
    }
}

/// A request among the waiting ones; it leaves them when this is dropped.
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

    /// Adds a request. Where too many wait, of this session or in all, the oldest is given up.
    fn add(
        self: &Arc<Self>,
        session: &Arc<str>,
        stream: &Arc<EventStream>,
    ) -> (WaitingGuard, oneshot::Receiver<()>) {
        let (held, given_up) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        let number = waiting.next;
        waiting.next += 1;
        waiting.requests.push_back(Request {
            number,
            session: session.clone(),
            stream: stream.clone(),
            _held: held,
        });
        waiting.limit(self.limits.abandoned_requests_per_session, |request| {
            request.session == *session
        });
        waiting.limit(self.limits.abandoned_requests, |_| true);
        drop(waiting);
        let abandoned = self.clone();
        (WaitingGuard { abandoned, number }, given_up)
    }

    /// Returns when a request must be given up: its place is needed, or its client did not come back in time.
    async fn expired(&self, stream: &EventStream, given_up: oneshot::Receiver<()>) {
        let unread = async {
            loop {
                tokio::time::sleep(self.limits.abandoned_request_time).await;
                if !stream.is_read() {
                    return;
                }
            }
        };
        tokio::select! {
            _ = given_up => {}
            () = unread => {}
        }
    }
}

impl WaitingRequests {
    /// Gives the oldest requests up of which too many wait. One whose client came back does not count.
    fn limit(&mut self, most: usize, is_meant: impl Fn(&Request) -> bool) {
        let is_surplus = |request: &Request| is_meant(request) && !request.stream.is_read();
        let count = self.requests.iter().filter(|one| is_surplus(one)).count();
        let mut surplus = count.saturating_sub(most);
        self.requests.retain(|request| {
            let gives_way = surplus > 0 && is_surplus(request);
            surplus -= usize::from(gives_way);
            !gives_way
        });
    }
}
