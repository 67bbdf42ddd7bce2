//! The state of a conversation with one client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pegboard_hub::{ClientCapabilities, ClientTransport, SessionHandle, SessionId};
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

/// Sends messages other than responses to a client: notifications and requests. Sending never blocks.
pub trait MessageSink: Send + Sync {
    /// Sends a complete JSON-RPC message. Returns `false` if the client is gone or not reading.
    fn send(&self, message: String) -> bool;
}

/// A conversation with one client: a stdio connection, a legacy session, or a single modern HTTP request.
pub struct Conversation {
    pub(crate) shared: Arc<Shared>,
    pub(crate) profile: String,
    pub(crate) session: SessionId,
    /// Set by `initialize`. Always empty for modern clients.
    pub(crate) legacy: OnceLock<LegacySession>,
    /// Name and version from `clientInfo`, if the handshake happened in this process.
    pub(crate) client: OnceLock<Arc<str>>,
    /// The client's transport, if it is not HTTP.
    pub(crate) transport: OnceLock<ClientTransport>,
    /// The hub's record of the client's activity.
    pub(crate) presence: OnceLock<Arc<SessionHandle>>,
    pub(crate) client_requests: ClientRequests,
    /// Running requests by id, for cancellation.
    running: Mutex<HashMap<Box<str>, CancelHandle>>,
    attached: Mutex<Option<AttachedSink>>,
    /// The lists last announced before the sink was detached. The client may reconnect.
    detached_state: Mutex<Option<LastNotified>>,
    /// Resources a legacy client subscribed to, under the URIs it used.
    watched: Mutex<Vec<String>>,
}

/// The outcome of a legacy handshake.
pub(crate) struct LegacySession {
    pub(crate) revision: String,
    pub(crate) capabilities: ClientCapabilities,
    /// The session id sent to HTTP clients.
    pub(crate) id: Arc<str>,
    level: AtomicU8,
}

struct AttachedSink {
    sink: Arc<dyn MessageSink>,
    /// Sends list changes to the sink until dropped.
    subscription: SubscriptionGuard,
}

/// Cancels a running request.
struct CancelHandle {
    /// Distinguishes requests to which the client gave the same id.
    number: u64,
    sender: oneshot::Sender<EndReason>,
}

/// Why a request ends before its response is ready.
enum EndReason {
    /// The client cancelled it and expects no response.
    Cancelled,
    /// The program is shutting down while the client still waits.
    ShuttingDown,
}

/// Error message for requests that are open at shutdown.
const SHUTDOWN_MESSAGE: &str = "Pegboard is shutting down and did not finish this request. A call may have had its effect \
                      already: check before you send it again.";

impl LegacySession {
    pub(crate) fn new(revision: &str, capabilities: ClientCapabilities, id: Arc<str>) -> Self {
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
            transport: OnceLock::new(),
            presence: OnceLock::new(),
            client_requests: ClientRequests::default(),
            running: Mutex::default(),
            attached: Mutex::default(),
            detached_state: Mutex::default(),
            watched: Mutex::default(),
        }
    }

    /// The id of the legacy session. `None` before `initialize`.
    pub fn session_id(&self) -> Option<Arc<str>> {
        self.legacy.get().map(|legacy| legacy.id.clone())
    }

    /// The protocol revision negotiated by `initialize`.
    pub fn revision(&self) -> Option<&str> {
        self.legacy.get().map(|legacy| legacy.revision.as_str())
    }

    /// Handles a message. Notifications and requests that precede the response go to `sink`. The client can cancel the
    /// request as soon as this function is called, even before the future is polled. Dropping the future cancels the
    /// request. Returns `None` if the client cancelled the request, or if the message needs no response.
    pub fn handle(
        self: Arc<Self>,
        message: Message,
        sink: Arc<dyn MessageSink>,
    ) -> impl Future<Output = Option<Response>> + Send + 'static {
        let registered = match (message.kind(), message.id()) {
            (MessageKind::Request, Some(id)) => Some(RunningRequest::start(&self, id.get())),
            _ => None,
        };
        async move {
            let Some((_running, cancelled)) = registered else {
                self.receive(message);
                return None;
            };
            let id = message.id()?;
            let response = async {
                match RequestContext::new(&self, &message, id, &sink) {
                    Ok(ctx) => dispatch(&ctx).await,
                    Err(response) => response,
                }
            };
            let shut_down = || Some(message.refuse(200, code::INTERNAL_ERROR, SHUTDOWN_MESSAGE));
            tokio::select! {
                biased;
                Ok(end) = cancelled => match end {
                    EndReason::Cancelled => None,
                    EndReason::ShuttingDown => shut_down(),
                },
                response = response => Some(response),
                () = self.shared.shutdown_started() => shut_down(),
            }
        }
    }

    /// Handles a notification, or the response to a request that we sent to the client.
    pub fn receive(&self, message: Message) {
        match (message.kind(), message.method()) {
            (MessageKind::Response, _) => {
                let id = message.id().and_then(|id| id.get().parse().ok());
                if let Some(id) = id {
                    self.client_requests.resolve(id, message.outcome());
                }
            }
            (MessageKind::Notification, "notifications/cancelled") => self.cancel(&message),
            _ => {}
        }
    }

    /// Sets the sink for messages that belong to no request (a stdio client, a GET stream). Replaces an earlier sink, and
    /// announces list changes that happened while none was attached.
    pub fn attach(&self, sink: Arc<dyn MessageSink>) {
        let filter = SubscriptionFilter {
            resources: lock(&self.watched).clone(),
            ..SubscriptionFilter::every_list()
        };
        let held = lock(&self.attached)
            .as_ref()
            .and_then(|attached| attached.subscription.seen());
        let seen = held.or_else(|| lock(&self.detached_state).take());
        let subscription =
            self.shared
                .subscribers
                .add(&self.shared, &self.profile, None, filter, &sink, seen);
        *lock(&self.attached) = Some(AttachedSink { sink, subscription });
    }

    /// Removes the sink set by [`Conversation::attach`], unless another one replaced it.
    pub fn detach(&self, sink: &Arc<dyn MessageSink>) {
        let mut attached = lock(&self.attached);
        if attached
            .as_ref()
            .is_some_and(|held| Arc::ptr_eq(&held.sink, sink))
        {
            let detached_state = attached.take();
            *lock(&self.detached_state) =
                detached_state.and_then(|attached| attached.subscription.seen());
        }
    }

    /// The sink for messages that belong to no request.
    pub(crate) fn attached_sink(&self) -> Option<Arc<dyn MessageSink>> {
        let attached = lock(&self.attached);
        attached.as_ref().map(|attached| attached.sink.clone())
    }

    /// Whether the client stays connected between requests.
    pub(crate) fn is_attached(&self) -> bool {
        lock(&self.attached).is_some()
    }

    pub(crate) fn is_stdio(&self) -> bool {
        self.transport.get() == Some(&ClientTransport::Stdio)
    }

    /// Whether requests are running or a sink is attached.
    pub(crate) fn is_busy(&self) -> bool {
        !lock(&self.running).is_empty() || lock(&self.attached).is_some()
    }

    /// Adds (or removes, if `watch` is false) a legacy client's resource subscription. Returns whether this changed
    /// anything.
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
            attached.subscription.watch(lock(&self.watched).clone());
        }
        is_new
    }

    /// The number of watched resources.
    pub(crate) fn watch_count(&self) -> usize {
        lock(&self.watched).len()
    }

    /// Ends all running requests of the client with an error, because the program is shutting down.
    pub fn end_requests(&self) {
        self.end_running(|| EndReason::ShuttingDown);
    }

    fn end_running(&self, end: impl Fn() -> EndReason) {
        let running = std::mem::take(&mut *lock(&self.running));
        for cancel in running.into_values() {
            // The request may have just completed.
            let _ = cancel.sender.send(end());
        }
    }

    /// Cancels all running requests and closes the conversation.
    pub fn close(&self) {
        self.end_running(|| EndReason::Cancelled);
        *lock(&self.attached) = None;
        self.client_requests.close();
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
            // The request may have just completed.
            let _ = cancel.sender.send(EndReason::Cancelled);
        }
    }
}

/// Also covers sessions that are evicted without having been ended by their client.
impl Drop for Conversation {
    fn drop(&mut self) {
        if self.legacy.get().is_some() || !lock(&self.watched).is_empty() {
            self.shared.hub.session_ended(&self.session);
        }
    }
}

/// Keeps a request in the table of running requests until dropped.
struct RunningRequest {
    conversation: Arc<Conversation>,
    id: Box<str>,
    number: u64,
}

impl RunningRequest {
    fn start(conversation: &Arc<Conversation>, id: &str) -> (Self, oneshot::Receiver<EndReason>) {
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
