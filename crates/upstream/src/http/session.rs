//! A conversation over HTTP: both eras, and the legacy session that may be lost and renewed.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;

use pegboard_model::{Era, Reason, ToolError, ToolResult};
use reqwest::StatusCode;
use reqwest::header::HeaderValue;
use tokio::sync::{Notify, watch};

use crate::contract::Handshake;
use crate::dialect::{
    ClientInfo, Dialect, LEGACY_VERSION, MODERN_VERSION, cancelled, initialize_params,
    notification, quoted, request,
};
use crate::envelope::{Answer, RpcError};
use crate::era::{Door, Opener};
use crate::http::exchange::{Channel, Failure, Post, SIDE_MESSAGE, State};
use crate::http::head::Head;
use crate::verdict::{Init, judge_initialize};
use crate::watching::Watching;
use crate::wire::{Ask, Size, Wire};

/// A conversation over HTTP, below the level of lists and calls.
pub(crate) struct HttpSession {
    pub(crate) channel: Arc<Channel>,
    pub(crate) watching: Arc<Watching>,
    me: ClientInfo,
    next_id: AtomicU64,
    in_flight: AtomicUsize,
    renewing: tokio::sync::Mutex<()>,
    /// Tells that the server opened a new session.
    pub(crate) renewed: Notify,
    /// Whether the first try to open the stream beside all calls is over, however it went.
    pub(crate) stream_tried: watch::Sender<bool>,
}

impl HttpSession {
    pub(crate) fn new(channel: Channel, me: ClientInfo) -> Self {
        let (next_id, in_flight) = (AtomicU64::new(1), AtomicUsize::new(0));
        let watching = Watching::new(channel.limits.subscriptions_per_server);
        Self {
            channel: Arc::new(channel),
            watching: Arc::new(watching),
            me,
            next_id,
            in_flight,
            renewing: tokio::sync::Mutex::default(),
            renewed: Notify::new(),
            stream_tried: watch::channel(false).0,
        }
    }

    pub(crate) fn opener(&self) -> Opener<'_, Self> {
        let channel = &self.channel;
        Opener {
            door: self,
            client: &self.me,
            wording: &channel.wording,
            limits: &channel.limits,
        }
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Opens a new session in place of one that the server forgot; one renewal serves all who noticed.
    async fn renew(self: &Arc<Self>, lost: u64) -> ToolResult<()> {
        let _one_at_a_time = self.renewing.lock().await;
        if self.channel.state().generation != lost {
            return Ok(());
        }
        let answer = self.initialize(&initialize_params(&self.me)).await?;
        match judge_initialize(answer, &self.channel.limits) {
            Init::Legacy(handshake) => self.agreed(&handshake).await,
            verdict => drop(verdict.into_handshake(&self.channel.wording)?),
        }
        self.renewed.notify_one();
        self.watch_again();
        Ok(())
    }

    /// Asks in a new session for the updates that were asked for in the old one, beside whatever renewed it.
    fn watch_again(self: &Arc<Self>) {
        let uris = self.watching.uris();
        if uris.is_empty() {
            return;
        }
        let session = Arc::clone(self);
        tokio::spawn(async move {
            let dialect = Dialect::legacy(LEGACY_VERSION);
            for uri in uris {
                let members = format!(r#""uri":{}"#, quoted(&uri));
                let ask = Ask::own(&dialect, "resources/subscribe", &members);
                let asking = session.ask_in_session(&ask);
                // A server that is gone or does not answer is not asked for the rest.
                match tokio::time::timeout(SIDE_MESSAGE, asking).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(_)) | Err(_) => break,
                }
            }
        });
    }

    /// Asks a legacy server; dropping it tells the server that the answer is no longer wanted.
    async fn ask_in_session(&self, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let id = self.new_id();
        let callers = &self.channel.traffic.callers;
        let _running = ask.behind.map(|behind| callers.enter(id, behind));
        let mut cancel = CancelOnDrop {
            session: self,
            id: Some(id),
        };
        let post = Post {
            id,
            frame: ask.frame(id),
            head: Head::Session,
            size: ask.size,
            opens: false,
        };
        let answer = self.channel.exchange(post).await;
        cancel.id = None;
        answer
    }

    /// Asks a modern server. Closing the stream cancels the request, so dropping the future is enough.
    async fn ask_alone(&self, ask: &Ask<'_>) -> Result<Answer, Failure> {
        let id = self.new_id();
        let callers = &self.channel.traffic.callers;
        let _running = ask.behind.map(|behind| callers.enter(id, behind));
        let head = Head::Modern {
            version: &ask.dialect.version,
            method: ask.method,
            name: ask.name,
            mirrored: ask.headers,
        };
        let post = Post {
            id,
            frame: ask.frame(id),
            head,
            size: ask.size,
            opens: false,
        };
        self.channel.exchange(post).await
    }

    fn lost(&self, failure: Failure) -> ToolError {
        match failure {
            Failure::Error(error) | Failure::Status(_, error) => error,
            Failure::SessionLost => self
                .channel
                .wording
                .error(Reason::HttpStatus, "forgot the session again at once"),
        }
    }
}

impl Door for HttpSession {
    async fn discover(&self, params: &str) -> ToolResult<Answer> {
        let (id, method) = (self.new_id(), "server/discover");
        let head = Head::Modern {
            version: MODERN_VERSION,
            method,
            name: None,
            mirrored: &[],
        };
        let post = Post {
            id,
            frame: request(id, method, params),
            head,
            size: Size::Frame,
            opens: false,
        };
        match self.channel.exchange(post).await {
            Ok(answer) => Ok(answer),
            Err(Failure::Status(status, error)) if !is_passing(status) => Ok(not_modern(error)),
            Err(Failure::Error(error))
                if matches!(error.reason, Reason::HttpProtocol | Reason::FrameInvalid) =>
            {
                Ok(not_modern(error))
            }
            Err(failure) => Err(self.lost(failure)),
        }
    }

    async fn initialize(&self, params: &str) -> ToolResult<Answer> {
        let id = self.new_id();
        let post = Post {
            id,
            frame: request(id, "initialize", params),
            head: Head::Opening,
            size: Size::Frame,
            opens: true,
        };
        self.channel
            .exchange(post)
            .await
            .map_err(|failure| self.lost(failure))
    }

    async fn agreed(&self, handshake: &Handshake) {
        if handshake.era == Era::Legacy {
            self.channel.state().version = HeaderValue::from_str(&handshake.protocol_version).ok();
            self.channel
                .post_aside(notification("notifications/initialized", "{}"))
                .await;
        } else {
            *self.channel.state() = State::default();
        }
    }

    fn noise(&self) -> u64 {
        self.channel.traffic.noise()
    }
}

impl Wire for Arc<HttpSession> {
    async fn ask(&self, ask: Ask<'_>) -> ToolResult<Answer> {
        let _counted = InFlight::count(&self.in_flight);
        if self.in_flight() > 1 {
            // Requests that are ready together leave together: a server that sleeps is woken once for all of them.
            after_others().await;
        }
        let answer = if ask.dialect.is_modern() {
            self.ask_alone(&ask).await
        } else {
            let generation = self.generation();
            match self.ask_in_session(&ask).await {
                Err(Failure::SessionLost) => {
                    Box::pin(self.renew(generation)).await?;
                    Box::pin(self.ask_in_session(&ask)).await
                }
                answer => answer,
            }
        };
        answer.map_err(|failure| self.lost(failure))
    }

    async fn learn(&self) -> ToolResult<Handshake> {
        self.opener().learn().await.map_err(|setback| setback.error)
    }

    fn generation(&self) -> u64 {
        self.channel.state().generation
    }

    fn stderr(&self) -> String {
        String::new()
    }
}

/// Whether an HTTP error says nothing of the server's era, only that now is a bad moment.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// A server that answers like that is there, but not modern.
fn not_modern(error: ToolError) -> Answer {
    Answer::Error(RpcError {
        code: 0,
        message: error.message,
        data: None,
    })
}

/// Lets whoever is ready now go first.
async fn after_others() {
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

/// Tells a legacy server when nobody waits any more: for it, a closed connection does not mean that.
struct CancelOnDrop<'a> {
    session: &'a HttpSession,
    id: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id, tokio::runtime::Handle::try_current()) {
            let notice = self.session.channel.aside(cancelled(id));
            runtime.spawn(notice);
        }
    }
}
