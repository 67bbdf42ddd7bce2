//! A server that runs as a child process and communicates over stdin and stdout.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_jsonrpc::{RpcResponse, request, revision};
use pegboard_model::{Era, Limits, Reason, Timestamp, ToolError, ToolResult, package_runner};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, timeout_at};

use crate::contract::{
    Announcement, CallOptions, CallOutcome, ConnectHint, ForwardedRequest, Handshake, Health,
    LogSink, OfferKind, RequestedFromClients, ToolListing, Upstream,
};
use crate::dialect::ClientInfo;
use crate::era_detection::{HandshakeClient, HandshakeFailure, HandshakeTransport};
use crate::errors::{ErrorContext, format_duration};
use crate::forward::OutgoingRequest;
use crate::handshake::assumed_handshake;
use crate::inbound::Inbound;
use crate::kill::StopMode;
use crate::sandbox::LimitWatch;
use crate::session::{Session, SessionConfig};
use crate::spawn::{Launch, spawn};
use crate::stderr::{Ring, drain};
use crate::stdio_listen::listen;
use crate::stdio_rpc::StdioRpc;
use crate::subscriptions::Subscriptions;
use crate::supervise::{ProcessHandle, Supervisor, supervise};
use crate::transport::{CallOrigin, ResponseSize, RpcRequest, RpcTransport};

/// What is needed to start a server and perform the handshake.
pub(crate) struct StdioOpening<'a> {
    pub(crate) launch: Launch,
    pub(crate) hint: &'a ConnectHint,
    pub(crate) logs: Arc<dyn LogSink>,
    pub(crate) setup: SessionConfig,
    pub(crate) budget: Duration,
}

/// How the next handshake is attempted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpeningMode {
    AssumeModern,
    Initialize,
    DetectEra,
}

impl StdioOpening<'_> {
    /// Starts the server, again if a fresh process is needed, and performs the handshake.
    pub(crate) async fn connect(self) -> ToolResult<Arc<dyn Upstream>> {
        let deadline = Instant::now() + self.budget;
        let mut mode = match self.hint.era {
            Some(Era::Modern) => OpeningMode::AssumeModern,
            Some(Era::Legacy) => OpeningMode::Initialize,
            None => OpeningMode::DetectEra,
        };
        let mut is_era_stored = self.hint.era.is_some();
        loop {
            let Ok(child) =
                timeout_at(deadline, Pipe::start(&self.launch, &self.setup, &self.logs)).await
            else {
                return Err(self.timeout_error(""));
            };
            let pipe = child?;
            let opened = match timeout_at(deadline, self.open(&pipe, mode)).await {
                Ok(opened) => opened,
                Err(_) => Err(HandshakeFailure {
                    error: self.timeout_error(&pipe.stderr.text()),
                    may_retry_initialize: false,
                }),
            };
            let failure = match opened {
                Ok(handshake) => {
                    let subscriptions =
                        Subscriptions::new(self.setup.limits.subscriptions_per_server);
                    let session =
                        Session::new(pipe, self.setup, handshake, Arc::new(subscriptions));
                    return Ok(Arc::new(StdioUpstream {
                        session,
                        subscribed: AtomicBool::new(false),
                    }));
                }
                Err(failure) => failure,
            };
            pipe.process.stop(StopMode::Firm).await;
            mode = match mode {
                // The stored era is wrong, so it is detected again.
                OpeningMode::Initialize
                    if is_era_stored && failure.error.reason != Reason::DiscoveryTimeout =>
                {
                    OpeningMode::DetectEra
                }
                OpeningMode::DetectEra if failure.may_retry_initialize => OpeningMode::Initialize,
                _ => return Err(failure.error),
            };
            is_era_stored = false;
        }
    }

    async fn open(&self, pipe: &Pipe, mode: OpeningMode) -> Result<Handshake, HandshakeFailure> {
        let handshake_client = pipe.handshake_client();
        match mode {
            OpeningMode::DetectEra => handshake_client.detect_era().await,
            OpeningMode::Initialize => match handshake_client.initialize_legacy().await {
                Ok(handshake) => Ok(handshake),
                Err(error) => Err(HandshakeFailure {
                    error: pipe.with_stderr(error),
                    may_retry_initialize: false,
                }),
            },
            OpeningMode::AssumeModern => {
                pipe.rpc.modern.store(true, Ordering::Relaxed);
                let version = self.hint.protocol_version.as_deref();
                let version =
                    version.filter(|version| revision::MODERN_REVISIONS.contains(version));
                Ok(assumed_handshake(version.unwrap_or(revision::MODERN)))
            }
        }
    }

    fn timeout_error(&self, stderr: &str) -> ToolError {
        let errors = &self.setup.errors;
        let what = format_args!(
            "did not complete the handshake within {}",
            format_duration(self.budget)
        );
        let error = errors.with_stderr(errors.error(Reason::DiscoveryTimeout, what), stderr);
        match package_runner(&self.launch.program) {
            Some(runner) => error.with_remedy(format!(
                "`{runner}` may still be downloading the package: run its command once by hand, or raise \
                 `discovery_timeout` of `{}`, for example to `120s`.",
                errors.server
            )),
            None => error,
        }
    }
}

/// A running child with its streams.
struct Pipe {
    rpc: Arc<StdioRpc>,
    process: ProcessHandle,
    stderr: Ring,
    started: Timestamp,
    client: ClientInfo,
    errors: ErrorContext,
    limits: Limits,
}

impl Pipe {
    async fn start(
        launch: &Launch,
        setup: &SessionConfig,
        logs: &Arc<dyn LogSink>,
    ) -> ToolResult<Self> {
        let errors = setup.errors.clone();
        let spawned = spawn(launch, &errors).await?;
        let inbound = Arc::new(Inbound::new(errors.clone(), Arc::clone(logs)));
        let (rpc, reading) = StdioRpc::start(
            spawned.stdout,
            spawned.stdin,
            inbound,
            errors.clone(),
            &setup.limits,
        );
        let stderr = Ring::new(setup.limits.stderr_bytes);
        let stderr_task = tokio::spawn(drain(
            spawned.stderr,
            stderr.clone(),
            errors.clone(),
            Arc::clone(logs),
        ));
        let confinement = launch.confinement.clone();
        let limits = confinement
            .as_ref()
            .and_then(|confinement| LimitWatch::start(confinement, spawned.group.pid()));
        let process = supervise(Supervisor {
            child: spawned.child,
            group: spawned.group,
            limits,
            confinement,
            rpc: Arc::clone(&rpc),
            reading,
            stderr_task,
            stderr: stderr.clone(),
            errors: errors.clone(),
        });
        let (client, limits) = (setup.client.clone(), setup.limits.clone());
        Ok(Self {
            rpc,
            process,
            stderr,
            started: crate::now(),
            client,
            errors,
            limits,
        })
    }

    fn handshake_client(&self) -> HandshakeClient<'_, StdioRpc> {
        HandshakeClient {
            transport: &*self.rpc,
            client: &self.client,
            errors: &self.errors,
            limits: &self.limits,
        }
    }

    /// Adds stderr to the error of a refused handshake, which usually explains it.
    fn with_stderr(&self, error: ToolError) -> ToolError {
        match error.reason {
            Reason::HandshakeFailed | Reason::VersionUnsupported => {
                self.errors.with_stderr(error, &self.stderr.text())
            }
            _ => error,
        }
    }
}

impl HandshakeTransport for StdioRpc {
    async fn discover(&self, params: &str) -> ToolResult<RpcResponse> {
        let id = self.new_id();
        let frame = request(id, "server/discover", params);
        self.request(id, frame, ResponseSize::Frame, false).await
    }

    async fn initialize(&self, params: &str) -> ToolResult<RpcResponse> {
        let id = self.new_id();
        let frame = request(id, "initialize", params);
        self.request(id, frame, ResponseSize::Frame, false).await
    }

    async fn complete(&self, handshake: &Handshake) {
        match handshake.era {
            Era::Modern => self.modern.store(true, Ordering::Relaxed),
            Era::Legacy => self.notify("notifications/initialized", "{}").await,
        }
    }

    fn noise(&self) -> u64 {
        self.inbound.noise()
    }
}

impl RpcTransport for Pipe {
    async fn send(&self, request: RpcRequest<'_>) -> ToolResult<RpcResponse> {
        let id = self.rpc.new_id();
        let callers = &self.rpc.inbound.callers;
        let _running = request.origin.map(|origin| callers.begin_call(id, origin));
        let frame = request.frame(id);
        self.rpc.request(id, frame, request.size, true).await
    }

    async fn prepare(&self, origin: CallOrigin<'_>) {
        if !self.rpc.modern.load(Ordering::Relaxed) {
            self.rpc.settle_roots(origin).await;
        }
    }

    async fn detect_era(&self) -> ToolResult<Handshake> {
        self.rpc.modern.store(false, Ordering::Relaxed);
        self.handshake_client()
            .detect_era()
            .await
            .map_err(|failure| self.with_stderr(failure.error))
    }

    fn generation(&self) -> u64 {
        0
    }

    fn stderr(&self) -> String {
        self.stderr.text()
    }
}

struct StdioUpstream {
    session: Session<Pipe>,
    subscribed: AtomicBool,
}

impl StdioUpstream {
    /// Subscribes to notifications of a modern server, once. Legacy servers send them without being asked.
    fn listen(&self) {
        if self.session.handshake().era == Era::Modern
            && let Ok(runtime) = Handle::try_current()
            && !self.subscribed.swap(true, Ordering::Relaxed)
        {
            let rpc = Arc::clone(&self.session.transport.rpc);
            let subscriptions = Arc::clone(&self.session.subscriptions);
            let dialect = self.session.dialect().clone();
            let mut listening = Box::pin(listen(
                rpc,
                dialect,
                subscriptions,
                self.session.capabilities(),
            ));
            // The first poll sends the request, so that it precedes whatever is sent next.
            let mut context = Context::from_waker(Waker::noop());
            if listening.as_mut().poll(&mut context).is_pending() {
                runtime.spawn(listening);
            }
        }
    }
}

#[async_trait]
impl Upstream for StdioUpstream {
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
        // Subscribe first, so that nothing is missed from now on.
        let announcements = self.session.transport.rpc.inbound.announcements();
        self.listen();
        announcements
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        self.listen();
        self.session.watch_resource(uri, watch).await
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.listen();
        self.session.transport.rpc.inbound.changes()
    }

    fn is_alive(&self) -> bool {
        self.session.transport.rpc.ended().is_none()
    }

    async fn ended(&self) -> ToolError {
        self.session.transport.rpc.wait_end().await
    }

    fn health(&self) -> Health {
        let transport = &self.session.transport;
        Health {
            pid: Some(transport.process.group.pid()),
            in_flight: transport.rpc.in_flight(),
            started: transport.started,
            ..transport.rpc.inbound.health()
        }
    }

    fn requested(&self) -> RequestedFromClients {
        self.session.transport.rpc.inbound.requested()
    }

    fn recent_stderr(&self) -> String {
        self.session.transport.stderr.text()
    }

    async fn close(&self) {
        self.session.transport.process.stop(StopMode::Gentle).await;
    }
}
