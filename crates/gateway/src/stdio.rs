//! The stdio transport: one client of either protocol era, one message per line.
//!
//! Invariant: nothing but protocol messages is written to stdout.

mod lines;
mod writer;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pegboard_hub::SessionId;
use pegboard_model::{Limits, Reason, ToolError, ToolResult, UntrustedText};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

use crate::batch::{self, BATCH_REVISION};
use crate::conversation::{Conversation, MessageSink};
use crate::gateway::Gateway;
use crate::message::{Message, MessageKind};
use crate::response::{Response, code, rpc};
use lines::{Line, Lines};
use writer::Writer;

/// How long running requests may take after the client closes its input.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long running requests may take after the shutdown signal.
const SHUTDOWN_DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long writing the final errors for open requests may take.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Queued requests allowed per running one. More are refused, because responses to our own requests arrive on the
/// same stream behind them.
const WAITING_PER_RUNNING: usize = 4;

/// Serves one client with the default limits until it closes its input or `shutdown` completes. Running requests then
/// get a short time to finish; the others end with an error.
///
/// # Errors
/// Fails if the profile does not exist.
pub async fn run_until(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: impl Future,
) -> ToolResult<()> {
    let limits = Limits::default();
    let beginning = Beginning::new(&limits);
    serve(gateway, profile, stdin, stdout, beginning, shutdown).await
}

/// A session that another process began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResumedSession {
    /// The id from [`Conversation::session_id`].
    pub id: String,
    /// The client's last log level.
    pub level: Option<String>,
    /// The resources that the client has subscribed to.
    pub subscriptions: Vec<String>,
}

/// Learns about the session of a client that [`run_shared`] serves. `()` ignores it.
pub trait SessionObserver: Send + Sync {
    /// The client has this session, in the hub's list of sessions and in the activity log.
    fn begun(&self, session: &SessionId);

    /// The handshake is complete. With this id another process can continue the session.
    fn opened(&self, id: &str);
}

impl SessionObserver for () {
    fn begun(&self, _session: &SessionId) {}

    fn opened(&self, _id: &str) {}
}

/// Serves one client of a process that serves several: continues its session if it has one, and reports the session to
/// `observer`.
///
/// # Errors
/// Fails if the profile does not exist, or if the session was not begun with this state folder.
pub async fn run_shared(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    resumed: Option<ResumedSession>,
    observer: Arc<dyn SessionObserver>,
    shutdown: impl Future,
) -> ToolResult<()> {
    let limits = Limits::default();
    let beginning = Beginning {
        resumed,
        observer,
        ..Beginning::new(&limits)
    };
    serve(gateway, profile, stdin, stdout, beginning, shutdown).await
}

/// Serves one client with custom limits until it closes its input.
///
/// # Errors
/// Fails if the profile does not exist.
pub async fn run_within(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    limits: &Limits,
) -> ToolResult<()> {
    let shutdown = std::future::pending::<()>();
    let beginning = Beginning::new(limits);
    serve(gateway, profile, stdin, stdout, beginning, shutdown).await
}

/// How a conversation begins.
struct Beginning<'a> {
    limits: &'a Limits,
    /// The session to continue.
    resumed: Option<ResumedSession>,
    observer: Arc<dyn SessionObserver>,
}

impl<'a> Beginning<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            resumed: None,
            observer: Arc::new(()),
        }
    }

    fn conversation(&self, gateway: &Gateway, profile: &str) -> ToolResult<Arc<Conversation>> {
        if !gateway.has_profile(profile) {
            return Err(no_such_profile(profile, gateway));
        }
        let conversation = match &self.resumed {
            Some(session) => gateway.session(profile, &session.id),
            None => gateway.begin(profile),
        };
        conversation.ok_or_else(|| {
            ToolError::new(
                Reason::SessionUnknown,
                "the session cannot be continued by this process",
            )
        })
    }
}

async fn serve(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    beginning: Beginning<'_>,
    shutdown: impl Future,
) -> ToolResult<()> {
    let conversation = beginning.conversation(&gateway, profile)?;
    let limits = beginning.limits;
    let _ = conversation
        .transport
        .set(pegboard_hub::ClientTransport::Stdio);
    let (writer, mut writer_task) = Writer::start(stdout, limits.unread_bytes);
    let mut client = StdioClient {
        queue_max: limits.requests_per_client * WAITING_PER_RUNNING,
        batch_messages: limits.batch_messages,
        running: Arc::new(Semaphore::new(limits.requests_per_client)),
        tasks: JoinSet::new(),
        long_lived: Vec::new(),
        writer: Arc::new(writer),
        conversation: conversation.clone(),
        observer: beginning.observer,
    };
    client.observer.begun(&conversation.session);
    if let Some(session) = beginning.resumed {
        client.resume(session).await;
    }
    let mut lines = Lines::new(stdin, limits.request_bytes);
    let shutdown = async {
        shutdown.await;
    };
    let mut shutdown = pin!(shutdown);
    let mut drain_timeout = DRAIN_TIMEOUT;
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = &mut shutdown => {
                drain_timeout = SHUTDOWN_DRAIN_TIMEOUT;
                break;
            }
            // The client no longer reads.
            _ = &mut writer_task => break,
            Some(_) = client.tasks.join_next() => continue,
        };
        match line {
            Ok(Some(line)) => client.receive(line).await,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!("cannot read standard input: {error}");
                break;
            }
        }
    }
    let is_shutdown = drain_timeout == SHUTDOWN_DRAIN_TIMEOUT;
    let is_over = async {
        let time = tokio::time::sleep(drain_timeout);
        tokio::select! {
            () = time => {}
            // The signal may arrive after the client closed its input.
            () = &mut shutdown, if !is_shutdown => {}
        }
    };
    client.end(&mut writer_task, is_over).await;
    conversation.close();
    Ok(())
}

struct StdioClient {
    conversation: Arc<Conversation>,
    writer: Arc<Writer>,
    tasks: JoinSet<()>,
    /// Requests that never complete by themselves.
    long_lived: Vec<AbortHandle>,
    running: Arc<Semaphore>,
    queue_max: usize,
    batch_messages: usize,
    observer: Arc<dyn SessionObserver>,
}

impl StdioClient {
    /// Repeats the client's settings of a session that another process began. The client has seen the responses.
    async fn resume(&mut self, session: ResumedSession) {
        self.conversation.attach(self.sink());
        let level = session
            .level
            .map(|level| ("logging/setLevel", serde_json::json!({ "level": level })));
        let resources = session.subscriptions.into_iter();
        let resources =
            resources.map(|uri| ("resources/subscribe", serde_json::json!({ "uri": uri })));
        for (method, params) in level.into_iter().chain(resources) {
            let request = serde_json::json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params });
            if let Ok(message) = Message::parse(Bytes::from(request.to_string())) {
                drop(self.conversation.clone().handle(message, self.sink()).await);
            }
        }
    }

    async fn receive(&mut self, line: Line) {
        let text = match line {
            Line::Whole(text) => text,
            Line::TooLong(max) => {
                let why = format!("the message is larger than {max} bytes");
                return self.refuse(code::INVALID_REQUEST, &why).await;
            }
        };
        if batch::is_batch(&text) {
            return self.receive_batch(&text).await;
        }
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(refused) => return self.writer.respond(refused).await,
        };
        match (message.kind(), message.method()) {
            (MessageKind::Notification | MessageKind::Response, _) => {
                self.conversation.receive(message)
            }
            (MessageKind::Request, "initialize") => self.initialize(message).await,
            (MessageKind::Request, _) if self.tasks.len() >= self.queue_max => {
                let why = "too many requests are running; wait for some of their responses";
                let refused = message.refuse(200, code::INTERNAL_ERROR, why);
                self.writer.respond(refused).await;
            }
            (MessageKind::Request, method) => {
                let is_long_lived = method == "subscriptions/listen";
                let (conversation, sink) = (self.conversation.clone(), self.sink());
                let task = self.spawn(conversation.handle(message, sink));
                if is_long_lived {
                    self.long_lived.retain(|task| !task.is_finished());
                    self.long_lived.push(task);
                }
            }
        }
    }

    /// Handles the handshake before reading further messages, because it determines how they are interpreted.
    async fn initialize(&mut self, message: Message) {
        let (conversation, sink) = (self.conversation.clone(), self.sink());
        if let Some(response) = conversation.handle(message, sink).await {
            self.writer.respond(response).await;
        }
        if self.conversation.revision().is_some() {
            self.conversation.attach(self.sink());
        }
        if let Some(id) = self.conversation.session_id() {
            self.observer.opened(&id);
        }
    }

    async fn receive_batch(&mut self, text: &Bytes) {
        if self.conversation.revision() != Some(BATCH_REVISION) {
            let why = "one message per line: only revision 2025-03-26 has batches";
            return self.refuse(code::INVALID_REQUEST, why).await;
        }
        match batch::read_batch(text, self.batch_messages) {
            Err(refused) => self.writer.respond(refused).await,
            Ok(messages) => {
                let (conversation, sink) = (self.conversation.clone(), self.sink());
                self.spawn(batch::handle_batch(conversation, messages, sink));
            }
        }
    }

    fn spawn(
        &mut self,
        response: impl Future<Output = Option<Response>> + Send + 'static,
    ) -> AbortHandle {
        let (running, writer) = (self.running.clone(), self.writer.clone());
        self.tasks.spawn(async move {
            let _permit = running.acquire().await;
            if let Some(response) = response.await {
                writer.respond(response).await;
            }
        })
    }

    fn sink(&self) -> Arc<dyn MessageSink> {
        self.writer.clone()
    }

    async fn refuse(&self, code: i64, why: &str) {
        let refused = Response::error(None, 400, &rpc(code, why));
        self.writer.respond(refused).await;
    }

    /// Waits for running requests until `is_over` completes, then ends the others with an error.
    async fn end(
        mut self,
        writer_task: &mut tokio::task::JoinHandle<()>,
        is_over: impl Future<Output = ()>,
    ) {
        self.long_lived.iter().for_each(AbortHandle::abort);
        let tasks = &mut self.tasks;
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            _ = &mut *writer_task => {}
            () = is_over => {}
        }
        self.conversation.end_requests();
        let answered = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FINAL_RESPONSE_TIMEOUT, answered).await;
        self.tasks.shutdown().await;
        self.writer.close();
        if !writer_task.is_finished() {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut *writer_task).await;
        }
    }
}

fn no_such_profile(profile: &str, gateway: &Gateway) -> ToolError {
    let names = gateway.profile_names();
    let message = match names.is_empty() {
        true => format!(
            "profile `{}` does not exist; no profiles are configured",
            UntrustedText::new(profile)
        ),
        false => format!(
            "profile `{}` does not exist; configured profiles: {}",
            UntrustedText::new(profile),
            names.join(", ")
        ),
    };
    ToolError::new(Reason::ProfileUnknown, message)
}
