//! An HTTP connection in both eras, including legacy sessions that may be lost and renewed.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;

use pegboard_jsonrpc::{
    RpcResponse, cancelled, notification, quoted, request, revision, rpc_error,
};
use pegboard_model::{Era, Reason, ToolError, ToolResult};
use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use tokio::sync::{Notify, watch};

use crate::contract::Handshake;
use crate::dialect::{ClientInfo, Dialect, initialize_params};
use crate::era_detection::{HandshakeClient, HandshakeTransport};
use crate::handshake_outcome::{InitializeOutcome, classify_initialize};
use crate::http::exchange::{Channel, DETACHED_TIMEOUT, ExchangeError, LegacySession, PostRequest};
use crate::http::headers::RequestHeaders;
use crate::subscriptions::Subscriptions;
use crate::transport::{ResponseSize, RpcRequest, RpcTransport};

/// An HTTP connection, below the level of lists and calls.
pub(crate) struct HttpSession {
    pub(crate) channel: Arc<Channel>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    client_info: ClientInfo,
    next_id: AtomicU64,
    in_flight: AtomicUsize,
    renewing: tokio::sync::Mutex<()>,
    /// Notified when the server opened a new session.
    pub(crate) renewed: Notify,
    /// Whether the first attempt to open the stream beside the calls has finished, successfully or not.
    pub(crate) stream_tried: watch::Sender<bool>,
}

impl HttpSession {
    pub(crate) fn new(channel: Channel, client_info: ClientInfo) -> Self {
        let (next_id, in_flight) = (AtomicU64::new(1), AtomicUsize::new(0));
        let subscriptions = Subscriptions::new(channel.limits.subscriptions_per_server);
        Self {
            channel: Arc::new(channel),
            subscriptions: Arc::new(subscriptions),
            client_info,
            next_id,
            in_flight,
            renewing: tokio::sync::Mutex::default(),
            renewed: Notify::new(),
            stream_tried: watch::channel(false).0,
        }
    }

    pub(crate) fn handshake_client(&self) -> HandshakeClient<'_, Self> {
        let channel = &self.channel;
        HandshakeClient {
            transport: self,
            client: &self.client_info,
            errors: &channel.errors,
            limits: &channel.limits,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a new session in place of one that the server lost. One renewal serves all requests that noticed the loss.
    async fn renew(self: &Arc<Self>, error_from: u64) -> ToolResult<()> {
        let _one_at_a_time = self.renewing.lock().await;
        if self.channel.legacy_session().generation != error_from {
            return Ok(());
        }
        let response = self
            .initialize(&initialize_params(&self.client_info))
            .await?;
        match classify_initialize(response, &self.channel.limits) {
            InitializeOutcome::Legacy(handshake) => self.complete(&handshake).await,
            outcome => drop(outcome.into_handshake(&self.channel.errors)?),
        }
        self.renewed.notify_one();
        self.resubscribe();
        Ok(())
    }

    /// Repeats the resource subscriptions of the old session in the new one, in the background.
    fn resubscribe(self: &Arc<Self>) {
        let uris = self.subscriptions.uris();
        if uris.is_empty() {
            return;
        }
        let session = Arc::clone(self);
        tokio::spawn(async move {
            let dialect = Dialect::legacy(revision::LATEST_LEGACY);
            for uri in uris {
                let members = format!(r#""uri":{}"#, quoted(&uri));
                let request = RpcRequest::own(&dialect, "resources/subscribe", &members);
                let sending = session.send_in_session(&request);
                // A server that is gone or does not respond is not asked for the rest.
                match tokio::time::timeout(DETACHED_TIMEOUT, sending).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(_)) | Err(_) => break,
                }
            }
        });
    }

    /// Sends a request to a legacy server. Dropping the future sends a cancellation.
    async fn send_in_session(
        &self,
        request: &RpcRequest<'_>,
    ) -> Result<RpcResponse, ExchangeError> {
        let id = self.new_id();
        let callers = &self.channel.inbound.callers;
        let _running = request.origin.map(|origin| callers.begin_call(id, origin));
        let mut cancel = CancelOnDrop {
            session: self,
            id: Some(id),
        };
        let post = PostRequest {
            id,
            frame: request.frame(id),
            head: RequestHeaders::Session,
            size: request.size,
            opens: false,
        };
        let response = self.channel.exchange(post).await;
        cancel.id = None;
        response
    }

    /// Sends a request to a modern server. Closing the stream cancels the request, so dropping the future is enough.
    async fn send_stateless(&self, request: &RpcRequest<'_>) -> Result<RpcResponse, ExchangeError> {
        let id = self.new_id();
        let callers = &self.channel.inbound.callers;
        let _running = request.origin.map(|origin| callers.begin_call(id, origin));
        let head = RequestHeaders::Modern {
            version: &request.dialect.version,
            method: request.method,
            name: request.name,
            mirrored: request.headers,
        };
        let post = PostRequest {
            id,
            frame: request.frame(id),
            head,
            size: request.size,
            opens: false,
        };
        self.channel.exchange(post).await
    }

    fn error_from(&self, failure: ExchangeError) -> ToolError {
        match failure {
            ExchangeError::Error(error) | ExchangeError::Status(_, error) => error,
            ExchangeError::SessionLost => self
                .channel
                .errors
                .error(Reason::HttpStatus, "lost the session again immediately"),
        }
    }
}

impl HandshakeTransport for HttpSession {
    async fn discover(&self, params: &str) -> ToolResult<RpcResponse> {
        let (id, method) = (self.new_id(), "server/discover");
        let head = RequestHeaders::Modern {
            version: revision::MODERN,
            method,
            name: None,
            mirrored: &[],
        };
        let post = PostRequest {
            id,
            frame: request(id, method, params),
            head,
            size: ResponseSize::Frame,
            opens: false,
        };
        match self.channel.exchange(post).await {
            Ok(response) => Ok(response),
            Err(ExchangeError::Status(status, error)) if !is_temporary(status) => {
                Ok(not_modern(error))
            }
            Err(ExchangeError::Error(error))
                if matches!(error.reason, Reason::HttpProtocol | Reason::FrameInvalid) =>
            {
                Ok(not_modern(error))
            }
            Err(failure) => Err(self.error_from(failure)),
        }
    }

    async fn initialize(&self, params: &str) -> ToolResult<RpcResponse> {
        let id = self.new_id();
        let post = PostRequest {
            id,
            frame: request(id, "initialize", params),
            head: RequestHeaders::Opening,
            size: ResponseSize::Frame,
            opens: true,
        };
        self.channel
            .exchange(post)
            .await
            .map_err(|failure| self.error_from(failure))
    }

    async fn complete(&self, handshake: &Handshake) {
        if handshake.era == Era::Legacy {
            self.channel.legacy_session().version =
                HeaderValue::from_str(&handshake.protocol_version).ok();
            self.channel
                .post_detached(notification("notifications/initialized", "{}"))
                .await;
        } else {
            *self.channel.legacy_session() = LegacySession::default();
        }
    }

    fn noise(&self) -> u64 {
        self.channel.inbound.noise()
    }
}

impl RpcTransport for Arc<HttpSession> {
    async fn send(&self, request: RpcRequest<'_>) -> ToolResult<RpcResponse> {
        let _counted = InFlight::count(&self.in_flight);
        if self.in_flight() > 1 {
            // Requests that are ready together are sent together: an idle server is woken once for all of them.
            yield_to_ready_tasks().await;
        }
        let response = if request.dialect.is_modern() {
            self.send_stateless(&request).await
        } else {
            let generation = self.generation();
            match self.send_in_session(&request).await {
                Err(ExchangeError::SessionLost) => {
                    Box::pin(self.renew(generation)).await?;
                    Box::pin(self.send_in_session(&request)).await
                }
                response => response,
            }
        };
        response.map_err(|failure| self.error_from(failure))
    }

    async fn detect_era(&self) -> ToolResult<Handshake> {
        self.handshake_client()
            .detect_era()
            .await
            .map_err(|failure| failure.error)
    }

    fn generation(&self) -> u64 {
        self.channel.legacy_session().generation
    }

    fn stderr(&self) -> String {
        String::new()
    }
}

/// Returns whether an HTTP error says nothing about the server's era and is only temporary.
fn is_temporary(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// The response of a server that is reachable but not modern.
fn not_modern(error: ToolError) -> RpcResponse {
    RpcResponse::Error(rpc_error(0, error.into_details().message))
}

/// Lets all tasks that are ready run first.
async fn yield_to_ready_tasks() {
    let mut is_turn = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_turn, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

struct InFlight<'a>(&'a AtomicUsize);

impl<'a> InFlight<'a> {
    fn count(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends a cancellation to a legacy server, for which a closed connection does not mean that.
struct CancelOnDrop<'a> {
    session: &'a HttpSession,
    id: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id, tokio::runtime::Handle::try_current()) {
            let notice = self.session.channel.detached_post(cancelled(id));
            runtime.spawn(notice);
        }
    }
}
