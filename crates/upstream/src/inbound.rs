//! Handles what a server sends besides responses: counts it and acts on it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use pegboard_jsonrpc::{
    Request, code, error_response, present, result_response, rpc_error, string,
};
use pegboard_model::{Reason, RpcError};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};

use crate::callers::{CallerRegistry, MessageSource};
use crate::client_request::ClientRequest;
use crate::contract::{Announcement, Health, LogSink, RequestedFromClients};
use crate::errors::ErrorContext;
use crate::redact::truncate;
use crate::root_request::{self, RootsRequest};

/// Protocol log messages of a server that are logged over the life of a connection.
const LOG_MESSAGES: u64 = 10_000;
/// Notifications buffered for subscribers. A slower subscriber gets a lag error and must fetch the lists itself.
const ANNOUNCEMENTS: usize = 256;

/// Bytes kept of the first line that is not a message; more than is shown, because secrets are removed later.
const NOISE_BYTES: usize = 2_000;
/// Lists with change notifications, as bits.
const TOOLS: u8 = 1;
const PROMPTS: u8 = 2;
const RESOURCES: u8 = 4;

/// Counters of a connection, its callers, and the notifications of its server.
pub(crate) struct Inbound {
    noise: AtomicU64,
    /// The start of the first line that was not a message.
    first_noise: OnceLock<String>,
    has_protocol_message: AtomicBool,
    invalid: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    /// What the server requested from clients without naming one.
    requested_input: AtomicBool,
    requested_roots: AtomicBool,
    logged: AtomicU64,
    changes: watch::Sender<u64>,
    /// Lists that changed since the last [`Inbound::flush`], as bits.
    pending: AtomicU8,
    /// Notifications and requests since the last [`Inbound::take_unsolicited`].
    unsolicited: AtomicU64,
    /// The list that the last message was about.
    last_change: AtomicU8,
    announcements: broadcast::Sender<Announcement>,
    /// The newest `subscriptions/listen` request that a modern server acknowledged.
    acknowledged: watch::Sender<u64>,
    pub(crate) callers: Arc<CallerRegistry>,
    errors: ErrorContext,
    logs: Arc<dyn LogSink>,
}

/// The reaction to a request of a server.
pub(crate) enum RequestAction {
    /// Respond with this frame.
    Respond(String),
    /// Forward it to a client.
    Forward(ClientRequest),
    /// Ask the session that owns the server's roots.
    Roots(RootsRequest),
}

impl RequestAction {
    /// Returns the response frame, once there is one.
    pub(crate) async fn frame(self) -> Option<String> {
        match self {
            Self::Respond(frame) => Some(frame),
            Self::Forward(request) => request.respond().await,
            Self::Roots(request) => request.respond().await,
        }
    }
}

impl Inbound {
    pub(crate) fn new(errors: ErrorContext, logs: Arc<dyn LogSink>) -> Self {
        Self {
            noise: AtomicU64::new(0),
            first_noise: OnceLock::new(),
            has_protocol_message: AtomicBool::new(false),
            invalid: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            requested_input: AtomicBool::new(false),
            requested_roots: AtomicBool::new(false),
            logged: AtomicU64::new(0),
            changes: watch::channel(0).0,
            pending: AtomicU8::new(0),
            unsolicited: AtomicU64::new(0),
            last_change: AtomicU8::new(0),
            announcements: broadcast::channel(ANNOUNCEMENTS).0,
            acknowledged: watch::channel(0).0,
            callers: Arc::default(),
            errors,
            logs,
        }
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.announcements.subscribe()
    }

    pub(crate) fn acknowledged(&self) -> watch::Receiver<u64> {
        self.acknowledged.subscribe()
    }

    pub(crate) fn count_noise(&self) {
        if self.noise.fetch_add(1, Ordering::Relaxed) == 0 {
            // Logged once: a banner does no harm, but its author should know where it belongs.
            let reason = Reason::StdoutPollution;
            self.log_protocol(&format!(
                "{} {} [{reason}]",
                reason.title(),
                reason.remedy()
            ));
        }
    }

    /// Remembers the first line that is not a message.
    pub(crate) fn note_noise(&self, line: &str) {
        self.first_noise
            .get_or_init(|| truncate(line, NOISE_BYTES).to_owned());
    }

    pub(crate) fn first_noise(&self) -> Option<&str> {
        self.first_noise.get().map(String::as_str)
    }

    /// Records that a protocol message arrived.
    pub(crate) fn mark_protocol_seen(&self) {
        self.has_protocol_message.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_protocol_message(&self) -> bool {
        self.has_protocol_message.load(Ordering::Relaxed)
    }

    pub(crate) fn count_invalid(&self) {
        self.invalid.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// Returns the number of lines that were not usable.
    pub(crate) fn useless_lines(&self) -> u64 {
        self.noise()
            .saturating_add(self.invalid.load(Ordering::Relaxed))
    }

    /// Handles a notification.
    pub(crate) fn handle_notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
        source: MessageSource,
    ) {
        self.unsolicited.fetch_add(1, Ordering::Relaxed);
        match method {
            "notifications/progress" if self.callers.progress(params) => {}
            "notifications/progress" => self.count_dropped(),
            "notifications/message" => {
                self.log(params);
                if let Some(params) = params {
                    self.callers.message(params, source);
                }
            }
            "notifications/tools/list_changed" => self.changed(TOOLS),
            "notifications/prompts/list_changed" => self.changed(PROMPTS),
            "notifications/resources/list_changed" => self.changed(RESOURCES),
            "notifications/resources/updated" => self.updated(params),
            "notifications/subscriptions/acknowledged" => self.subscribed(params),
            "notifications/cancelled" => self.callers.withdraw(params),
            _ => {}
        }
    }

    /// Records a changed list. [`Inbound::flush`] announces it, so that a thousand changes that are read at once are
    /// announced once.
    pub(crate) fn changed(&self, list: u8) {
        self.pending.fetch_or(list, Ordering::Relaxed);
        self.last_change.store(list, Ordering::Relaxed);
    }

    /// Returns the number of unsolicited messages since the last call.
    pub(crate) fn take_unsolicited(&self) -> u64 {
        self.unsolicited.swap(0, Ordering::Relaxed)
    }

    /// Returns the list whose change was announced since the last call; zero if none.
    pub(crate) fn take_last_change(&self) -> u8 {
        self.last_change.swap(0, Ordering::Relaxed)
    }

    /// Announces changed lists. Called whenever no buffered message is left.
    pub(crate) fn flush(&self) {
        let pending = self.pending.swap(0, Ordering::Relaxed);
        if pending & TOOLS != 0 {
            self.changes
                .send_modify(|count| *count = count.wrapping_add(1));
        }
        if pending & RESOURCES != 0 {
            self.announce(Announcement::ResourcesChanged);
        }
        if pending & PROMPTS != 0 {
            self.announce(Announcement::PromptsChanged);
        }
    }

    /// Handles an error that belongs to no request.
    pub(crate) fn handle_unaddressed_error(&self, error: &RpcError) {
        self.count_dropped();
        self.log_protocol(&self.errors.describe(error));
    }

    /// Handles a request. Only legacy servers may send any.
    pub(crate) fn handle_request(
        &self,
        request: &Request<'_>,
        is_modern: bool,
        source: MessageSource,
    ) -> RequestAction {
        self.unsolicited.fetch_add(1, Ordering::Relaxed);
        let Request { id, method, params } = request;
        if !is_modern && source == MessageSource::Shared {
            self.note_requested(method);
        }
        let refused = match method.as_ref() {
            "ping" if !is_modern => return RequestAction::Respond(result_response(id, "{}")),
            root_request::METHOD if !is_modern && source == MessageSource::Shared => {
                return RequestAction::Roots(RootsRequest {
                    callers: Arc::clone(&self.callers),
                    id: (*id).to_owned(),
                    params: params.map(ToOwned::to_owned),
                });
            }
            "elicitation/create" | "sampling/createMessage" | "roots/list" if !is_modern => {
                match self.callers.request_client(id, method, *params, source) {
                    Ok(request) => return RequestAction::Forward(request),
                    Err(error) => error,
                }
            }
            _ => rpc_error(code::METHOD_NOT_FOUND, "Method not found"),
        };
        self.refused.fetch_add(1, Ordering::Relaxed);
        let method = self.errors.quote(method);
        self.log_protocol(&format!("the server's request `{method}` was refused"));
        RequestAction::Respond(error_response(Some(id), &refused))
    }

    fn note_requested(&self, method: &str) {
        match method {
            "elicitation/create" | "sampling/createMessage" => {
                self.requested_input.store(true, Ordering::Relaxed);
            }
            root_request::METHOD => self.requested_roots.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    /// Returns what the server requested from clients without naming one.
    pub(crate) fn requested(&self) -> RequestedFromClients {
        RequestedFromClients {
            input: self.requested_input.load(Ordering::Relaxed),
            roots: self.requested_roots.load(Ordering::Relaxed),
        }
    }

    /// Returns the counters.
    pub(crate) fn health(&self) -> Health {
        Health {
            noise_lines: self.noise(),
            invalid_frames: self.invalid.load(Ordering::Relaxed),
            dropped_frames: self.dropped.load(Ordering::Relaxed),
            refused_requests: self.refused.load(Ordering::Relaxed),
            ..Health::default()
        }
    }

    fn announce(&self, announcement: Announcement) {
        // An error means that there are no subscribers.
        let _ = self.announcements.send(announcement);
    }

    fn updated(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }
        match params.and_then(|params| serde_json::from_str::<Updated>(params.get()).ok()) {
            Some(Updated { uri }) => {
                // Announce earlier changes first.
                self.flush();
                self.announce(Announcement::ResourceUpdated { uri });
            }
            None => self.count_invalid(),
        }
    }

    fn subscribed(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Subscribed {
            #[serde(rename = "_meta")]
            meta: Meta,
        }
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/subscriptionId")]
            id: u64,
        }
        if let Some(subscribed) =
            params.and_then(|params| serde_json::from_str::<Subscribed>(params.get()).ok())
        {
            let id = subscribed.meta.id;
            self.acknowledged
                .send_if_modified(|known| id > std::mem::replace(known, id.max(*known)));
        }
    }

    fn log_protocol(&self, what: &str) {
        if self.logged.fetch_add(1, Ordering::Relaxed) < LOG_MESSAGES {
            let line = format!("(protocol) {what}");
            self.logs.append(&self.errors.server, &line);
        }
    }

    fn log(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct LogMessage<'a> {
            #[serde(borrow, default, deserialize_with = "present")]
            data: Option<&'a RawValue>,
        }
        if self.logged.fetch_add(1, Ordering::Relaxed) >= LOG_MESSAGES {
            return;
        }
        let message =
            params.and_then(|params| serde_json::from_str::<LogMessage<'_>>(params.get()).ok());
        if let Some(data) = message.and_then(|message| message.data) {
            let text = string(data).unwrap_or_else(|| data.get().into());
            self.logs
                .append(&self.errors.server, &self.errors.quote(&text));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pegboard_model::ServerName;

    use super::*;
    use crate::testing::errors;

    #[derive(Default)]
    struct RecordedLogs(Mutex<Vec<String>>);

    impl LogSink for RecordedLogs {
        fn append(&self, server: &ServerName, text: &str) {
            self.0.lock().unwrap().push(format!("{server}: {text}"));
        }
    }

    #[test]
    fn r_sec_01_c03_text_on_standard_output_is_logged_once_and_counted() {
        let kept = Arc::new(RecordedLogs::default());
        let inbound = Inbound::new(errors(), kept.clone());
        (0..3).for_each(|_| inbound.count_noise());
        let lines = kept.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("STDOUT_POLLUTION"), "{lines:?}");
        assert_eq!(inbound.health().noise_lines, 3);
    }

    #[test]
    fn r_sec_01_c14_a_refused_request_is_logged_and_a_flood_of_them_is_not() {
        let kept = Arc::new(RecordedLogs::default());
        let inbound = Inbound::new(errors(), kept.clone());
        let id = RawValue::from_string("1".into()).unwrap();
        let ask = |method: &str, is_modern| {
            let request = Request {
                id: &id,
                method: method.into(),
                params: None,
            };
            match inbound.handle_request(&request, is_modern, MessageSource::Shared) {
                RequestAction::Respond(frame) => frame,
                RequestAction::Forward(_) | RequestAction::Roots(_) => panic!("there is no client"),
            }
        };
        assert!(ask("ping", false).contains("\"result\":{}"));
        assert!(ask("sampling/create\u{1b}[31m", true).contains("-32601"));
        let lines = kept.0.lock().unwrap().clone();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("`sampling/create"), "{lines:?}");
        assert!(!lines[0].contains('\u{1b}'), "{lines:?}");
        for _ in 0..2 * LOG_MESSAGES {
            ask("roots/list", true);
        }
        assert_eq!(kept.0.lock().unwrap().len() as u64, LOG_MESSAGES);
        assert_eq!(inbound.health().refused_requests, 1 + 2 * LOG_MESSAGES);
    }
}
