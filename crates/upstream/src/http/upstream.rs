//! An HTTP server as the rest of Pegboard sees it.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_jsonrpc::revision;
use pegboard_model::{Era, HttpWire, Reason, Timestamp, ToolError, ToolResult};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};
use tokio::task::AbortHandle;

use crate::byte_budget::ByteBudget;
use crate::contract::{
    Announcement, CallOptions, CallOutcome, ConnectHint, ForwardedRequest, Handshake, Health,
    LogSink, OfferKind, ToolListing, Upstream,
};
use crate::errors::format_duration;
use crate::forward::OutgoingRequest;
use crate::handshake::assumed_handshake;
use crate::http::client::Client;
use crate::http::exchange::{Channel, LegacySession, TransportClues};
use crate::http::listen::listen;
use crate::http::old_sse::{self, OpenFailure};
use crate::http::session::HttpSession;
use crate::http::target::Target;
use crate::inbound::Inbound;
use crate::oauth::Keeper;
use crate::session::{Session, SessionConfig};

/// How long the first call of a client waits for the stream on which the server may send requests.
const STREAM_OPENS_WITHIN: Duration = Duration::from_secs(1);

/// What is needed to reach a server and perform the handshake.
pub(crate) struct HttpOpening<'a> {
    pub(crate) target: Target,
    pub(crate) client: Client,
    pub(crate) hint: &'a ConnectHint,
    pub(crate) logs: Arc<dyn LogSink>,
    pub(crate) setup: SessionConfig,
    pub(crate) budget: Duration,
    pub(crate) connect_time: Duration,
    pub(crate) response_bytes: ByteBudget,
    pub(crate) login: Option<Arc<Keeper>>,
    /// The transport that the configuration names.
    pub(crate) wire: HttpWire,
}

impl HttpOpening<'_> {
    /// Performs the handshake. A server known to be modern is not asked anything.
    pub(crate) async fn connect(self) -> ToolResult<Arc<dyn Upstream>> {
        let (errors, budget) = (self.setup.errors.clone(), self.budget);
        match tokio::time::timeout(budget, self.open()).await {
            Ok(opened) => opened,
            Err(_) => {
                let what = format_args!(
                    "did not complete the handshake within {}",
                    format_duration(budget)
                );
                Err(errors.error(Reason::DiscoveryTimeout, what))
            }
        }
    }

    /// Uses the transport that is configured or remembered, otherwise Streamable HTTP and then the old one.
    async fn open(self) -> ToolResult<Arc<dyn Upstream>> {
        let limits = &self.setup.limits;
        let of_server = ByteBudget::new(limits.response_bytes_per_server, limits.result_bytes);
        let channel = Channel {
            response_bytes: [of_server, self.response_bytes],
            client: self.client,
            login: self.login,
            target: self.target,
            connect_time: self.connect_time,
            inbound: Arc::new(Inbound::new(self.setup.errors.clone(), self.logs)),
            errors: self.setup.errors.clone(),
            limits: self.setup.limits.clone(),
            legacy_session: Mutex::new(LegacySession::default()),
            clues: TransportClues::default(),
        };
        let session = Arc::new(HttpSession::new(channel, self.setup.client.clone()));
        let channel = Arc::clone(&session.channel);
        if self.wire == HttpWire::Sse {
            return match old_sse::open(channel, self.setup).await {
                Ok(upstream) => Ok(upstream),
                Err((_, failure)) => Err(failure.into_error(self.wire)),
            };
        }
        let mut setup = self.setup;
        if self.hint.old_sse {
            match old_sse::open(Arc::clone(&channel), setup).await {
                Ok(upstream) => return Ok(upstream),
                // The server may have moved to Streamable HTTP.
                Err((unused, failure)) if failure.may_be_other_transport() => setup = unused,
                Err((_, failure)) => return Err(failure.into_error(self.wire)),
            }
        }
        let error = match handshake(&session, self.hint).await {
            Ok(handshake) => {
                let subscriptions = Arc::clone(&session.subscriptions);
                return Ok(Arc::new(HttpUpstream {
                    session: Session::new(session, setup, handshake, subscriptions),
                    listener: OnceLock::new(),
                    end: watch::channel(None).0,
                    started: crate::now(),
                }));
            }
            Err(error) => error,
        };
        if !session.channel.clues.may_be_old_sse() || self.hint.old_sse {
            return Err(old_sse::explain_gone(error, channel.clues.opening_status()));
        }
        match old_sse::open(Arc::clone(&channel), setup).await {
            Ok(upstream) => Ok(upstream),
            // It does not have that transport either, so that the first error says more.
            Err((_, OpenFailure::NotOffered(_))) => Err(error),
            Err((_, failure)) => Err(failure.into_error(self.wire)),
        }
    }
}

/// Performs the handshake of Streamable HTTP.
async fn handshake(session: &Arc<HttpSession>, hint: &ConnectHint) -> ToolResult<Handshake> {
    let client = session.handshake_client();
    let detect = || async { client.detect_era().await.map_err(|failure| failure.error) };
    match hint.era {
        Some(Era::Modern) => {
            let version = hint.protocol_version.as_deref();
            let version = version.filter(|version| revision::MODERN_REVISIONS.contains(version));
            Ok(assumed_handshake(version.unwrap_or(revision::MODERN)))
        }
        Some(Era::Legacy) => match client.initialize_legacy().await {
            // A server that responds, but differently, may have another era by now.
            Err(error) if may_be_other_era(&error) => detect().await,
            opened => opened,
        },
        None => detect().await,
    }
}

fn may_be_other_era(error: &ToolError) -> bool {
    matches!(
        error.reason,
        Reason::HandshakeFailed
            | Reason::HttpStatus
            | Reason::HttpProtocol
            | Reason::FrameInvalid
            | Reason::VersionUnsupported
    ) && !error.retryable
}

struct HttpUpstream {
    session: Session<Arc<HttpSession>>,
    listener: OnceLock<AbortHandle>,
    end: watch::Sender<Option<ToolError>>,
    started: Timestamp,
}

impl HttpUpstream {
    /// Opens the notification stream, once. A legacy server may send its requests there as well.
    fn listen(&self) {
        if self.is_alive()
            && let Ok(runtime) = Handle::try_current()
        {
            self.listener.get_or_init(|| {
                let session = Arc::clone(&self.session.transport);
                let dialect = self.session.dialect().clone();
                let listening = listen(session, dialect, self.session.capabilities());
                runtime.spawn(listening).abort_handle()
            });
        }
    }

    /// Many legacy servers send the requests of a call on the stream beside all calls, and lose them if it is not open.
    /// It is therefore opened before the first call of a client that supports such requests.
    async fn open_stream_for_requests(&self, options: &CallOptions) {
        let caller = options.caller.as_ref();
        let accepts_requests = caller.is_some_and(|caller| caller.capabilities().as_str() != "{}");
        let tried = &self.session.transport.stream_tried;
        if !accepts_requests || *tried.borrow() || self.session.handshake().era == Era::Modern {
            return;
        }
        self.listen();
        let mut waiting = tried.subscribe();
        let trying = waiting.wait_for(|tried| *tried);
        if tokio::time::timeout(STREAM_OPENS_WITHIN, trying)
            .await
            .is_err()
        {
            // A server that is slow to say whether it has such a stream must not delay other calls.
            tried.send_replace(true);
        }
    }

    fn stop_listening(&self) {
        if let Some(listener) = self.listener.get() {
            listener.abort();
        }
    }
}

impl Drop for HttpUpstream {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

#[async_trait]
impl Upstream for HttpUpstream {
    fn handshake(&self) -> &Handshake {
        self.session.handshake()
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        self.unless_closed(self.session.list()).await
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        self.unless_closed(async {
            self.open_stream_for_requests(&options).await;
            let request = OutgoingRequest::call(tool, arguments);
            self.session.forward(request, &options).await
        })
        .await
    }

    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        self.unless_closed(async {
            self.open_stream_for_requests(&options).await;
            let request = OutgoingRequest::other(request);
            self.session.forward(request, &options).await
        })
        .await
    }

    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        self.unless_closed(self.session.offers(kind)).await
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        // Subscribe first, so that nothing is missed from now on.
        let announcements = self.session.transport.channel.inbound.announcements();
        self.listen();
        announcements
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        self.listen();
        self.unless_closed(self.session.watch_resource(uri, watch))
            .await
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        let handshake = self.session.handshake();
        if handshake.list_changed || handshake.declares_tools.is_none() {
            self.listen();
        }
        self.session.transport.channel.inbound.changes()
    }

    fn is_alive(&self) -> bool {
        self.end.borrow().is_none()
    }

    async fn ended(&self) -> ToolError {
        self.wait_end().await
    }

    fn health(&self) -> Health {
        let session = &self.session.transport;
        Health {
            in_flight: session.in_flight(),
            started: self.started,
            ..session.channel.inbound.health()
        }
    }

    fn recent_stderr(&self) -> String {
        String::new()
    }

    async fn close(&self) {
        let is_first = self.end.send_if_modified(|end| {
            let is_first = end.is_none();
            if is_first {
                *end = Some(self.stopped());
            }
            is_first
        });
        self.stop_listening();
        self.session.transport.channel.inbound.callers.close();
        if is_first {
            self.session.transport.channel.delete().await;
            self.session.transport.channel.close_idle();
        }
    }
}

impl HttpUpstream {
    fn stopped(&self) -> ToolError {
        self.session
            .setup
            .errors
            .error(Reason::Cancelled, "was disconnected")
    }

    async fn wait_end(&self) -> ToolError {
        let mut end = self.end.subscribe();
        let ended = end
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|end| end.clone());
        ended.unwrap_or_else(|| self.stopped())
    }

    /// Runs a future until the connection is closed.
    async fn unless_closed<T>(&self, work: impl Future<Output = ToolResult<T>>) -> ToolResult<T> {
        tokio::select! {
            biased;
            error = self.wait_end() => Err(error),
            done = work => done,
        }
    }
}
