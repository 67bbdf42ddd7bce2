//! Legacy sessions over HTTP: responses as resumable streams, and a stream for notifications.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::context::{Emission, send};
use crate::http::event_log::EventLog;
use crate::http::{empty_response, headers, reply};
use crate::legacy::Session;
use crate::message::{RpcError, response};
use crate::shared::SharedState;

/// The number of the notification stream of a session.
const CHANGES_STREAM: u64 = 0;

/// The open sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<String, Arc<HttpSession>>>,
    opened: AtomicU64,
}

impl Sessions {
    /// Handles one message of a client.
    pub(crate) fn take(
        &self,
        shared: &Arc<SharedState>,
        headers: &HeaderMap,
        message: Value,
    ) -> Response {
        if message["method"] == "initialize" {
            return self.initialize(shared, &message);
        }
        let session = match self.find(headers) {
            Ok(session) => session,
            Err(status) => return unknown_session(status, &message["id"]),
        };
        match (message["method"].as_str(), message.get("id")) {
            (None, _) => session.protocol.take_reply(message),
            (Some("notifications/cancelled"), None) => {
                session.cancel(&message["params"]["requestId"]);
            }
            (Some(_), None) => {}
            (Some(_), Some(_)) => return session.answer(shared.clone(), message),
        }
        empty_response(StatusCode::ACCEPTED)
    }

    fn initialize(&self, shared: &Arc<SharedState>, message: &Value) -> Response {
        let number = self.opened.fetch_add(1, Ordering::SeqCst);
        let id = format!("session-{}-{number}", std::process::id());
        let session = HttpSession::open(shared, &message["params"]);
        let greeting = response(&message["id"], Ok(session.protocol.greeting()));
        let mut answer = reply::json(StatusCode::OK, &greeting);
        if let Ok(value) = HeaderValue::from_str(&id) {
            answer.headers_mut().insert(headers::SESSION, value);
        }
        lock(&self.open).insert(id, session);
        answer
    }

    /// The stream of a `GET`: notifications, or the rest of an interrupted stream.
    pub(crate) fn stream(&self, headers: &HeaderMap) -> Response {
        let session = match self.find(headers) {
            Ok(session) => session,
            Err(_) if headers::session(headers).is_none() => {
                return empty_response(StatusCode::METHOD_NOT_ALLOWED);
            }
            Err(status) => return empty_response(status),
        };
        let event_position = headers::text(headers, "last-event-id").map(event_position);
        match event_position {
            None => {
                let changes = session.log(CHANGES_STREAM);
                changes.map(|log| reply::events(log.read(log.len(), None)))
            }
            Some(None) => None,
            Some(Some((number, seen))) => session
                .log(number)
                .map(|log| reply::events(log.read(seen, None))),
        }
        .unwrap_or_else(|| empty_response(StatusCode::NOT_FOUND))
    }

    pub(crate) fn end(&self, headers: &HeaderMap) -> Response {
        match headers::session(headers) {
            None => empty_response(StatusCode::METHOD_NOT_ALLOWED),
            Some(id) => match lock(&self.open).remove(id) {
                Some(session) => {
                    session.close();
                    empty_response(StatusCode::NO_CONTENT)
                }
                None => empty_response(StatusCode::NOT_FOUND),
            },
        }
    }

    fn find(&self, headers: &HeaderMap) -> Result<Arc<HttpSession>, StatusCode> {
        let id = headers::session(headers).ok_or(StatusCode::BAD_REQUEST)?;
        lock(&self.open)
            .get(id)
            .cloned()
            .ok_or(StatusCode::NOT_FOUND)
    }
}

fn unknown_session(status: StatusCode, id: &Value) -> Response {
    let rpc_error = RpcError::new(-32600, "unknown session; initialize first");
    reply::refused(status, id, rpc_error)
}

/// Parses an event id `STREAM-MESSAGES`.
fn event_position(id: &str) -> Option<(u64, usize)> {
    let (number, seen) = id.split_once('-')?;
    Some((number.parse().ok()?, seen.parse().ok()?))
}

struct HttpSession {
    protocol: Session,
    logs: Mutex<HashMap<u64, Arc<EventLog>>>,
    next_log: AtomicU64,
    /// The running requests, by their id as JSON.
    running: Mutex<HashMap<String, AbortHandle>>,
    notifier: Mutex<Option<AbortHandle>>,
}

impl HttpSession {
    fn open(shared: &SharedState, params: &Value) -> Arc<Self> {
        let changes = Arc::new(EventLog::new(CHANGES_STREAM));
        let session = Arc::new(Self {
            protocol: Session::open(params),
            logs: Mutex::new(HashMap::from([(CHANGES_STREAM, changes.clone())])),
            next_log: AtomicU64::new(CHANGES_STREAM + 1),
            running: Mutex::default(),
            notifier: Mutex::default(),
        });
        let (target, mut receiver) = (session.clone(), shared.changes());
        let notifier = tokio::spawn(async move {
            while let Ok(change) = receiver.recv().await {
                if let Some(message) = target.protocol.notification_for(&change) {
                    changes.push(message);
                }
            }
        });
        *lock(&session.notifier) = Some(notifier.abort_handle());
        session
    }

    fn log(&self, number: u64) -> Option<Arc<EventLog>> {
        lock(&self.logs).get(&number).cloned()
    }

    /// Responds with a stream. The request continues if the client disconnects, because it may reconnect.
    fn answer(self: &Arc<Self>, shared: Arc<SharedState>, message: Value) -> Response {
        let number = self.next_log.fetch_add(1, Ordering::SeqCst);
        let log = Arc::new(EventLog::new(number));
        lock(&self.logs).insert(number, log.clone());
        let first = self.protocol.is_primed().then(|| log.priming());
        let events = log.read(0, first);
        let key = message["id"].to_string();
        let (sender, mut emissions) = mpsc::unbounded_channel();
        let session = self.clone();
        let work = tokio::spawn(async move {
            let method = message["method"].as_str().unwrap_or_default();
            let answer = session
                .protocol
                .answer(&shared, method, &message["params"], sender.clone())
                .await;
            send(&sender, response(&message["id"], answer));
        });
        tokio::spawn(async move {
            while let Some(emission) = emissions.recv().await {
                match emission {
                    Emission::Message(message) => log.push(message),
                    Emission::CutStream => log.cut(),
                    Emission::OpenStream => {}
                }
            }
            log.end();
        });
        let mut running = lock(&self.running);
        running.retain(|_, task| !task.is_finished());
        running.insert(key, work.abort_handle());
        reply::events(events)
    }

    fn cancel(&self, id: &Value) {
        if let Some(task) = lock(&self.running).remove(&id.to_string()) {
            task.abort();
        }
    }

    fn close(&self) {
        lock(&self.running)
            .drain()
            .for_each(|(_, task)| task.abort());
        lock(&self.logs).values().for_each(|log| log.end());
        if let Some(notifier) = lock(&self.notifier).take() {
            notifier.abort();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
