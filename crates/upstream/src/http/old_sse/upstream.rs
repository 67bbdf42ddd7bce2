//! A server of the HTTP+SSE transport as the rest of Pegboard sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use pegboard_jsonrpc::RpcResponse;
use pegboard_model::{Reason, Timestamp, ToolError, ToolResult};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, watch};
use tokio::task::AbortHandle;

use super::opening::OpenStream;
use super::posting::post_lines;
use super::reading::read_events;
use crate::contract::{
    Announcement, CallOptions, CallOutcome, ForwardedRequest, Handshake, Health, OfferKind,
    RequestedFromClients, ToolListing, Upstream,
};
use crate::era_detection::HandshakeClient;
use crate::forward::OutgoingRequest;
use crate::http::exchange::Channel;
use crate::session::{Session, SessionConfig};
use crate::stdio_rpc::{ReadEnd, StdioRpc};
use crate::transport::{CallOrigin, RpcRequest, RpcTransport};

/// Bytes buffered between the stream and the reader of messages, in each direction.
const BUFFER_BYTES: usize = 64 * 1024;

/// An open stream with its endpoint. The messages are those of a stdio server, one line each, and are handled by the
/// same code.
pub(super) struct SseLink {
    rpc: Arc<StdioRpc>,
    channel: Arc<Channel>,
    tasks: [AbortHandle; 3],
    ending: Ending,
}

/// Ends the connection and remembers whether a request was waiting then.
#[derive(Clone)]
pub(super) struct Ending {
    rpc: Arc<StdioRpc>,
    was_idle: Arc<AtomicBool>,
}

impl Ending {
    /// Ends the connection. Only the first call has an effect.
    pub(super) fn finish(&self, error: ToolError) {
        if self.rpc.ended().is_none() {
            let is_idle = self.rpc.in_flight() == 0;
            self.was_idle.store(is_idle, Ordering::Relaxed);
        }
        self.rpc.finish(error);
        self.rpc.close_input();
    }

    /// Fails one request.
    pub(super) fn reject(&self, id: u64, error: ToolError) {
        self.rpc.reject(id, error);
    }
}

impl SseLink {
    /// Starts to read the stream and to post messages.
    pub(super) fn start(channel: Arc<Channel>, stream: OpenStream) -> Self {
        let (incoming, event_lines) = tokio::io::duplex(BUFFER_BYTES);
        let (outgoing, posted_lines) = tokio::io::duplex(BUFFER_BYTES);
        let inbound = Arc::clone(&channel.inbound);
        let errors = channel.errors.clone();
        let (rpc, reading) = StdioRpc::start(incoming, outgoing, inbound, errors, &channel.limits);
        let ending = Ending {
            rpc: Arc::clone(&rpc),
            was_idle: Arc::default(),
        };
        let endpoint = stream.endpoint.clone();
        let posting = post_lines(channel.clone(), ending.clone(), endpoint, posted_lines);
        let streaming = read_events(channel.clone(), stream, event_lines);
        let end = ending.clone();
        let streaming = tokio::spawn(async move {
            // Whichever ends first: the stream, or the reader at a violated limit.
            let read = tokio::select! {
                error = streaming => error,
                Ok(ReadEnd::Broken(error)) = reading.end => error,
            };
            end.finish(read);
        });
        let tasks = [
            tokio::spawn(posting).abort_handle(),
            streaming.abort_handle(),
            reading.task,
        ];
        Self {
            rpc,
            channel,
            tasks,
            ending,
        }
    }

    pub(super) fn handshake_client<'a>(
        &'a self,
        setup: &'a SessionConfig,
    ) -> HandshakeClient<'a, StdioRpc> {
        HandshakeClient {
            transport: &*self.rpc,
            client: &setup.client,
            errors: &setup.errors,
            limits: &setup.limits,
        }
    }

    fn stop(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for SseLink {
    fn drop(&mut self) {
        self.stop();
    }
}

impl RpcTransport for SseLink {
    async fn send(&self, request: RpcRequest<'_>) -> ToolResult<RpcResponse> {
        let id = self.rpc.new_id();
        let callers = &self.rpc.inbound.callers;
        let _running = request.origin.map(|origin| callers.begin_call(id, origin));
        let frame = request.frame(id);
        self.rpc.request(id, frame, request.size, true).await
    }

    async fn prepare(&self, origin: CallOrigin<'_>) {
        self.rpc.settle_roots(origin).await;
    }

    async fn detect_era(&self) -> ToolResult<Handshake> {
        // The transport belongs to the legacy era, and the handshake is complete.
        let what = "speaks the HTTP+SSE transport, which has one era only";
        Err(self.channel.errors.error(Reason::HandshakeFailed, what))
    }

    fn generation(&self) -> u64 {
        0
    }

    fn stderr(&self) -> String {
        String::new()
    }
}

pub(super) struct SseUpstream {
    pub(super) session: Session<SseLink>,
    pub(super) started: Timestamp,
}

impl SseUpstream {
    fn rpc(&self) -> &Arc<StdioRpc> {
        &self.session.transport.rpc
    }
}

#[async_trait]
impl Upstream for SseUpstream {
    fn handshake(&self) -> &Handshake {
        self.session.handshake()
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        self.session.list().await
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let request = OutgoingRequest::call(tool, arguments);
        self.session.forward(request, &options).await
    }

    async fn request(
        &self,
        request: ForwardedRequest<'_>,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        let request = OutgoingRequest::other(request);
        self.session.forward(request, &options).await
    }

    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        self.session.offers(kind).await
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        self.rpc().inbound.announcements()
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        self.session.watch_resource(uri, watch).await
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.rpc().inbound.changes()
    }

    fn is_alive(&self) -> bool {
        self.rpc().ended().is_none()
    }

    async fn ended(&self) -> ToolError {
        let error = self.rpc().wait_end().await;
        if self
            .session
            .transport
            .ending
            .was_idle
            .load(Ordering::Relaxed)
            && error.reason == Reason::ServerExited
        {
            // Proxies close streams on which nothing happens. That is no crash.
            let what = "closed its event stream while no request was waiting";
            return self.session.setup.errors.error(Reason::Cancelled, what);
        }
        error
    }

    fn health(&self) -> Health {
        Health {
            in_flight: self.rpc().in_flight(),
            started: self.started,
            ..self.rpc().inbound.health()
        }
    }

    fn requested(&self) -> RequestedFromClients {
        self.rpc().inbound.requested()
    }

    fn uses_old_sse(&self) -> bool {
        true
    }

    fn recent_stderr(&self) -> String {
        String::new()
    }

    async fn close(&self) {
        let errors = &self.session.setup.errors;
        self.rpc()
            .finish(errors.error(Reason::Cancelled, "was disconnected"));
        self.session.transport.stop();
        self.session.transport.channel.close_idle();
    }
}
