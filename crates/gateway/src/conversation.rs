//! A conversation with one client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pegboard_hub::{ClientTransport, SessionHandle, SessionId};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::client_requests::ClientRequests;
use crate::dispatch::{RequestContext, dispatch};
use crate::gateway::Shared;
use crate::level::Level;
use crate::message::{Message, MessageKind};
use crate::response::{Response, code};
use crate::subscribers::{LastNotified, SubscriptionFilter, SubscriptionGuard};

/// Where messages to a client go that are not the answer itself: notifications and our own questions. Sending
/// never waits.
pub trait MessageSink: Send + Sync {
    /// Sends a whole JSON-RPC message; `false` when the client is gone or does not read.
    fn send(&self, message: String) -> bool;
}

/// A conversation with one client.
pub struct Conversation {
    pub(crate) shared: Arc<Shared>,
    pub(crate) profile: String,
    pub(crate) session: SessionId,
    /// Set by `initialize`; a modern client has none.
    pub(crate) legacy: OnceLock<LegacySession>,
    /// What the client calls itself, when it shook hands in this process.
    pub(crate) client: OnceLock<Arc<str>>,
    /// How the client reaches us, when it is not by HTTP.
    pub(crate) face: OnceLock<ClientTransport>,
    /// Where it is noted what the client does.
    pub(crate) presence: OnceLock<Arc<SessionHandle>>,
    pub(crate) questions: ClientRequests,
    /// Requests that are being answered, so that the client can take them back.
    running: Mutex<HashMap<Box<str>, CancelHandle>>,
    attached: Mutex<Option<AttachedSink>>,
    /// What the client knew of when its place was taken away; it may come back.
    detached_state: Mutex<Option<LastNotified>>,
    /// The resources a legacy client subscribed to, as it names them.
    watched: Mutex<Vec<String>>,
}

/// What a handshake agreed on.
pub(crate) struct LegacySession {
    pub(crate) revision: String,
    pub(crate) capabilities: Arc<str>,
    /// The id by which an HTTP client comes back.
    pub(crate) id: Arc<str>,
    level: AtomicU8,
}

struct AttachedSink {
    sink: Arc<dyn MessageSink>,
    /// Tells of changes until it is dropped.
    listening: SubscriptionGuard,
}

/// How a request that is being answered is taken back.
struct CancelHandle {
    /// Tells requests apart that a client gave the same id.
    number: u64,
    sender: oneshot::Sender<EndReason>,
}

/// Why a request ends before it is answered.
enum EndReason {
    /// Its client took it back and expects no response.
    Cancelled,
    /// The conversation ends, and the client still waits.
    ShuttingDown,
}

/// The error for a request that was open when the program had to end.
const SHUTDOWN_MESSAGE: &str = "Pegboard is shutting down and did not finish this request. A call may have had its effect \
                      already: check before you send it again.";

impl LegacySession {
    pub(crate) fn new(revision: &str, capabilities: Arc<str>, id: Arc<str>) -> Self {
        Self {
            revision: revision.to_owned(),
            capabilities,
            id,
            level: AtomicU8::new(u8::MAX),
        }
    }

    pub(crate) fn level(&self) -> Option<Level> {
        Level::of_number(self.level.load(Ordering::Relaxed))
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }
}

impl Conversation {
    pub(crate) fn new(shared: Arc<Shared>, profile: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(1);
        Self {
            shared,
            profile: profile.to_owned(),
            session: SessionId(format!("client-{}", COUNT.fetch_add(1, Ordering::Relaxed))),
            legacy: OnceLock::new(),
            client: OnceLock::new(),
            face: OnceLock::new(),
            presence: OnceLock::new(),
            questions: ClientRequests::default(),
            running: Mutex::default(),
            attached: Mutex::default(),
            detached_state: Mutex::default(),
            watched: Mutex::default(),
        }
    }

    /// The id of the legacy session, once `initialize` was answered.
    pub fn session_id(&self) -> Option<Arc<str>> {
        self.legacy.get().map(|legacy| legacy.id.clone())
    }

    /// The revision that `initialize` agreed on.
    pub fn revision(&self) -> Option<&str> {
        self.legacy.get().map(|legacy| legacy.revision.as_str())
    }

    /// Answers a request; `outlet` takes what belongs to it and comes before the answer. The client can take it
    /// back from now on, also before it is first waited for. Dropping the future cancels the request; `None` when
    /// the client took it back itself, or when it needs no answer.
    pub fn answer(
        self: Arc<Self>,
        message: Message,
        sink: Arc<dyn MessageSink>,
    ) -> impl Future<Output = Option<Response>> + Send + 'static {
        let noted = match (message.kind(), message.id()) {
            (MessageKind::Request, Some(id)) => Some(RunningRequest::note(&self, id.get())),
            _ => None,
        };
        async move {
            let Some((_running, cancelled)) = noted else {
                self.take(message);
                return None;
            };
            let id = message.id()?;
            let answer = async {
                match RequestContext::new(&self, &message, id, &sink) {
                    Ok(ctx) => dispatch(&ctx).await,
                    Err(response) => response,
                }
            };
            let given_up = || Some(message.refuse(200, code::INTERNAL, SHUTDOWN_MESSAGE));
            tokio::select! {
                biased;
                Ok(end) = cancelled => match end {
                    EndReason::Cancelled => None,
                    EndReason::ShuttingDown => given_up(),
                },
                response = answer => Some(response),
                () = self.shared.ending() => given_up(),
            }
        }
    }

    /// Takes a notification, or the answer to a question of ours.
    pub fn take(&self, message: Message) {
        match (message.kind(), message.method()) {
            (MessageKind::Response, _) => {
                let id = message.id().and_then(|id| id.get().parse().ok());
                if let Some(id) = id {
                    self.questions.answered(id, message.outcome());
                }
            }
            (MessageKind::Notification, "notifications/cancelled") => self.cancel(&message),
            _ => {}
        }
    }

    /// Gives the conversation a place for what belongs to no request (a stdio client, a GET stream). It
    /// replaces an earlier one, and what changed while there was none is told now.
    pub fn attach(&self, sink: Arc<dyn MessageSink>) {
        let filter = SubscriptionFilter {
            resources: lock(&self.watched).clone(),
            ..SubscriptionFilter::every_list()
        };
        let held = lock(&self.attached)
            .as_ref()
            .and_then(|attached| attached.listening.seen());
        let seen = held.or_else(|| lock(&self.detached_state).take());
        let listening =
            self.shared
                .subscribers
                .add(&self.shared, &self.profile, None, filter, &sink, seen);
        *lock(&self.attached) = Some(AttachedSink { sink, listening });
    }

    /// Takes the place of [`Conversation::attach`] away again, if it is still this one.
    pub fn detach(&self, sink: &Arc<dyn MessageSink>) {
        let mut attached = lock(&self.attached);
        if attached
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(&held.sink, sink))
        {
            let detached_state = attached.take();
            *lock(&self.detached_state) =
                detached_state.and_then(|attached| attached.listening.seen());
        }
    }

    /// Where messages go that belong to no request.
    pub(crate) fn attached_sink(&self) -> Option<Arc<dyn MessageSink>> {
        let attached = lock(&self.attached);
        attached.as_ref().map(|attached| attached.sink.clone())
    }

    /// Whether it lasts beyond its requests, because its client stays connected.
    pub(crate) fn is_attached(&self) -> bool {
        lock(&self.attached).is_some()
    }

    pub(crate) fn is_over_pipe(&self) -> bool {
        self.face.get() == Some(&ClientTransport::Stdio)
    }

    /// Whether it still has something to do or somebody to tell.
    pub(crate) fn is_busy(&self) -> bool {
        !lock(&self.running).is_empty() || lock(&self.attached).is_some()
    }

    /// Remembers what a legacy client wants to be told about; gives back whether it was new.
    pub(crate) fn watch(&self, uri: &str, watch: bool) -> bool {
        let is_new = {
            let mut watched = lock(&self.watched);
            let held = watched.iter().position(|held| held == uri);
            match (held, watch) {
                (None, true) => {
                    watched.push(uri.to_owned());
                    true
                }
                (Some(at), false) => {
                    watched.swap_remove(at);
                    true
                }
                _ => false,
            }
        };
        if let Some(attached) = lock(&self.attached).as_ref().filter(|_| is_new) {
            attached.listening.watch(lock(&self.watched).clone());
        }
        is_new
    }

    /// How many resources it watches.
    pub(crate) fn watches(&self) -> usize {
        lock(&self.watched).len()
    }

    /// Answers everything that still runs for the client by an error, because the conversation ends.
    pub fn end_requests(&self) {
        self.end_running(|| EndReason::ShuttingDown);
    }

    fn end_running(&self, end: impl Fn() -> EndReason) {
        let running = std::mem::take(&mut *lock(&self.running));
        for cancel in running.into_values() {
            // It may have been answered at this very moment.
            let _ = cancel.sender.send(end());
        }
    }

    /// Ends everything that still runs for the client.
    pub fn close(&self) {
        self.end_running(|| EndReason::Cancelled);
        *lock(&self.attached) = None;
        self.questions.close();
        self.shared.hub.session_ended(&self.session);
    }

    fn cancel(&self, message: &Message) {
        #[derive(Deserialize)]
        struct Cancelled<'a> {
            #[serde(borrow, rename = "requestId")]
            id: &'a RawValue,
        }
        if let Ok(cancelled) = serde_json::from_str::<Cancelled<'_>>(message.payload())
            && let Some(cancel) = lock(&self.running).remove(cancelled.id.get())
        {
            // It may have been answered at this very moment.
            let _ = cancel.sender.send(EndReason::Cancelled);
        }
    }
}

/// A session may leave the memory without having been ended by its client.
impl Drop for Conversation {
    fn drop(&mut self) {
        if self.legacy.get().is_some() || !lock(&self.watched).is_empty() {
            self.shared.hub.session_ended(&self.session);
        }
    }
}

/// Keeps a request among the running ones until it is dropped.
struct RunningRequest {
    conversation: Arc<Conversation>,
    id: Box<str>,
    number: u64,
}

impl RunningRequest {
    fn note(conversation: &Arc<Conversation>, id: &str) -> (Self, oneshot::Receiver<EndReason>) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let (sender, cancelled) = oneshot::channel();
        lock(&conversation.running).insert(id.into(), CancelHandle { number, sender });
        let running = Self {
            conversation: conversation.clone(),
            id: id.into(),
            number,
        };
        (running, cancelled)
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let mut running = lock(&self.conversation.running);
        if running
            .get(&self.id)
            .is_some_and(|held| held.number == self.number)
        {
            running.remove(&self.id);
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
