//! A server that runs as a child process and speaks on its standard input and output.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use async_trait::async_trait;
use pegboard_model::{Era, Limits, Reason, Timestamp, ToolError, ToolResult, package_runner};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, timeout_at};

use crate::contract::{
    Announcement, CallOptions, CallOutcome, ConnectHint, Forward, Handshake, Health, LogSink,
    OfferKind, ToolListing, Upstream,
};
use crate::dialect::{ClientInfo, MODERN_VERSION, MODERN_VERSIONS, request};
use crate::envelope::Answer;
use crate::era::{Door, Opener, Setback};
use crate::handshake::assumed;
use crate::kill::Patience;
use crate::link::Link;
use crate::spawn::{Launch, spawn};
use crate::stderr::{Ring, drain};
use crate::stdio_listen::listen;
use crate::supervise::{Supervised, Watched, supervise};
use crate::talk::{Talk, TalkSetup};
use crate::traffic::Traffic;
use crate::watching::Watching;
use crate::wire::{Ask, Behind, Size, Wire};
use crate::wording::{Wording, in_words};

/// What is needed to start a server and open the conversation.
pub(crate) struct StdioOpening<'a> {
    pub(crate) launch: Launch,
    pub(crate) hint: &'a ConnectHint,
    pub(crate) logs: Arc<dyn LogSink>,
    pub(crate) setup: TalkSetup,
    pub(crate) budget: Duration,
}

/// How the next opening is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    AssumeModern,
    Initialize,
    Learn,
}

impl StdioOpening<'_> {
    /// Starts the server, again where a fresh process is needed, and agrees on the protocol.
    pub(crate) async fn connect(self) -> ToolResult<Arc<dyn Upstream>> {
        let deadline = Instant::now() + self.budget;
        let mut way = match self.hint.era {
            Some(Era::Modern) => Way::AssumeModern,
            Some(Era::Legacy) => Way::Initialize,
            None => Way::Learn,
        };
        let mut is_remembered = self.hint.era.is_some();
        loop {
            let Ok(child) =
                timeout_at(deadline, Pipe::start(&self.launch, &self.setup, &self.logs)).await
            else {
                return Err(self.too_late(""));
            };
            let pipe = child?;
            let opened = match timeout_at(deadline, self.open(&pipe, way)).await {
                Ok(opened) => opened,
                Err(_) => Err(Setback {
                    error: self.too_late(&pipe.stderr.text()),
                    probe_is_to_blame: false,
                }),
            };
            let setback = match opened {
                Ok(handshake) => {
                    let watching = Watching::new(self.setup.limits.subscriptions_per_server);
                    let talk = Talk::new(pipe, self.setup, handshake, Arc::new(watching));
                    return Ok(Arc::new(StdioUpstream {
                        talk,
                        subscribed: AtomicBool::new(false),
                    }));
                }
                Err(setback) => setback,
            };
            pipe.process.stop(Patience::Firm).await;
            way = match way {
                // What was remembered is wrong, so everything is open again.
                Way::Initialize
                    if is_remembered && setback.error.reason != Reason::DiscoveryTimeout =>
                {
                    Way::Learn
                }
                Way::Learn if setback.probe_is_to_blame => Way::Initialize,
                _ => return Err(setback.error),
            };
            is_remembered = false;
        }
    }

    async fn open(&self, pipe: &Pipe, way: Way) -> Result<Handshake, Setback> {
        let opener = pipe.opener();
        match way {
            Way::Learn => opener.learn().await,
            Way::Initialize => match opener.open_legacy().await {
                Ok(handshake) => Ok(handshake),
                Err(error) => Err(Setback {
                    error: pipe.explained(error),
                    probe_is_to_blame: false,
                }),
            },
            Way::AssumeModern => {
                pipe.link.modern.store(true, Ordering::Relaxed);
                let version = self.hint.protocol_version.as_deref();
                let version = version.filter(|version| MODERN_VERSIONS.contains(version));
                Ok(assumed(version.unwrap_or(MODERN_VERSION)))
            }
        }
    }

    fn too_late(&self, stderr: &str) -> ToolError {
        let wording = &self.setup.wording;
        let what = format_args!(
            "did not open the conversation within {}",
            in_words(self.budget)
        );
        let error = wording.with_stderr(wording.error(Reason::DiscoveryTimeout, what), stderr);
        match package_runner(&self.launch.program) {
            Some(runner) => error.with_remedy(format!(
                "`{runner}` may still be downloading the package: run its command once by hand, or raise \
                 `discovery_timeout` of `{}`, for example to `120s`.",
                wording.server
            )),
            None => error,
        }
    }
}

/// A running child with its streams.
struct Pipe {
    link: Arc<Link>,
    process: Supervised,
    stderr: Ring,
    started: Timestamp,
    client: ClientInfo,
    wording: Wording,
    limits: Limits,
}

impl Pipe {
    async fn start(
        launch: &Launch,
        setup: &TalkSetup,
        logs: &Arc<dyn LogSink>,
    ) -> ToolResult<Self> {
        let wording = setup.wording.clone();
        let spawned = spawn(launch, &wording).await?;
        let traffic = Arc::new(Traffic::new(wording.clone(), Arc::clone(logs)));
        let (link, reading) = Link::start(
            spawned.stdout,
            spawned.stdin,
            traffic,
            wording.clone(),
            &setup.limits,
        );
        let stderr = Ring::new(setup.limits.stderr_bytes);
        let stderr_task = tokio::spawn(drain(
            spawned.stderr,
            stderr.clone(),
            wording.clone(),
            Arc::clone(logs),
        ));
        let process = supervise(Watched {
            child: spawned.child,
            group: spawned.group,
            link: Arc::clone(&link),
            reading,
            stderr_task,
            stderr: stderr.clone(),
            wording: wording.clone(),
        });
        let (client, limits) = (setup.client.clone(), setup.limits.clone());
        Ok(Self {
            link,
            process,
            stderr,
            started: crate::now(),
            client,
            wording,
            limits,
        })
    }

    fn opener(&self) -> Opener<'_, Link> {
        Opener {
            door: &*self.link,
            client: &self.client,
            wording: &self.wording,
            limits: &self.limits,
        }
    }

    /// An opening that was refused is explained best by what the server wrote to stderr.
    fn explained(&self, error: ToolError) -> ToolError {
        match error.reason {
            Reason::HandshakeFailed | Reason::VersionUnsupported => {
                self.wording.with_stderr(error, &self.stderr.text())
            }
            _ => error,
        }
    }
}

impl Door for Link {
    async fn discover(&self, params: &str) -> ToolResult<Answer> {
        let id = self.new_id();
        let frame = request(id, "server/discover", params);
        self.request(id, frame, Size::Frame, false).await
    }

    async fn initialize(&self, params: &str) -> ToolResult<Answer> {
        let id = self.new_id();
        let frame = request(id, "initialize", params);
        self.request(id, frame, Size::Frame, false).await
    }

    async fn agreed(&self, handshake: &Handshake) {
        match handshake.era {
            Era::Modern => self.modern.store(true, Ordering::Relaxed),
            Era::Legacy => self.notify("notifications/initialized", "{}").await,
        }
    }

    fn noise(&self) -> u64 {
        self.traffic.noise()
    }
}

impl Wire for Pipe {
    async fn ask(&self, ask: Ask<'_>) -> ToolResult<Answer> {
        self.link.ask(ask).await
    }

    async fn prepare(&self, behind: Behind<'_>) {
        if !self.link.modern.load(Ordering::Relaxed) {
            self.link.settle_roots(behind).await;
        }
    }

    async fn learn(&self) -> ToolResult<Handshake> {
        self.link.modern.store(false, Ordering::Relaxed);
        self.opener()
            .learn()
            .await
            .map_err(|setback| self.explained(setback.error))
    }

    fn generation(&self) -> u64 {
        0
    }

    fn stderr(&self) -> String {
        self.stderr.text()
    }
}

struct StdioUpstream {
    talk: Talk<Pipe>,
    subscribed: AtomicBool,
}

impl StdioUpstream {
    /// Legacy servers announce changes unasked; modern ones want to be asked, once.
    fn listen(&self) {
        if self.talk.handshake().era == Era::Modern
            && let Ok(runtime) = Handle::try_current()
            && !self.subscribed.swap(true, Ordering::Relaxed)
        {
            let link = Arc::clone(&self.talk.wire.link);
            let watching = Arc::clone(&self.talk.watching);
            let dialect = self.talk.dialect().clone();
            let mut listening = Box::pin(listen(link, dialect, watching, self.talk.has()));
            // Its first step sends the wish, so that it stands before whatever is sent next.
            let mut nobody = Context::from_waker(Waker::noop());
            if listening.as_mut().poll(&mut nobody).is_pending() {
                runtime.spawn(listening);
            }
        }
    }
}

#[async_trait]
impl Upstream for StdioUpstream {
    fn handshake(&self) -> &Handshake {
        self.talk.handshake()
    }

    async fn list_tools(&self) -> ToolResult<ToolListing> {
        self.talk.list().await
    }

    async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        options: CallOptions,
    ) -> ToolResult<CallOutcome> {
        self.talk.call(tool, arguments, options).await
    }

    async fn request(&self, request: Forward<'_>, options: CallOptions) -> ToolResult<CallOutcome> {
        self.talk.request(request, options).await
    }

    async fn list_offers(&self, kind: OfferKind) -> ToolResult<Vec<Box<RawValue>>> {
        self.talk.offers(kind).await
    }

    fn announcements(&self) -> broadcast::Receiver<Announcement> {
        // Whoever asks misses nothing that comes from now on, so the subscription is first.
        let announcements = self.talk.wire.link.traffic.announcements();
        self.listen();
        announcements
    }

    async fn watch_resource(&self, uri: &str, watch: bool) -> ToolResult<()> {
        self.listen();
        self.talk.watch_resource(uri, watch).await
    }

    fn list_changed(&self) -> watch::Receiver<u64> {
        self.listen();
        self.talk.wire.link.traffic.changes()
    }

    fn is_alive(&self) -> bool {
        self.talk.wire.link.ended().is_none()
    }

    async fn ended(&self) -> ToolError {
        self.talk.wire.link.wait_end().await
    }

    fn health(&self) -> Health {
        let wire = &self.talk.wire;
        Health {
            pid: Some(wire.process.group.pid()),
            in_flight: wire.link.in_flight(),
            started: wire.started,
            ..wire.link.traffic.health()
        }
    }

    fn recent_stderr(&self) -> String {
        self.talk.wire.stderr.text()
    }

    async fn close(&self) {
        self.talk.wire.process.stop(Patience::Gentle).await;
    }
}
