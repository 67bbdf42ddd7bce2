//! The stdio face: one client, one message per line, of both protocol eras.
//!
//! Invariant: nothing but protocol is written to the client.

mod lines;
mod writer;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
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

/// How long requests under way may take after the client said its last word.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// The same after the program received the signal to end.
const SHUTDOWN_DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
/// How long it may take to tell the client that its open requests are given up.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Requests that may wait for each one that is under way, before further ones are refused: the answers
/// to our own questions come behind them.
const WAITING_PER_RUNNING: usize = 4;

/// Speaks with one client until it says no more, and gives its last requests a moment.
pub async fn run(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
) -> ToolResult<()> {
    run_within(gateway, profile, stdin, stdout, &Limits::default()).await
}

/// The same until `shutdown` is done: then requests under way get a moment, and those that need longer are answered by
/// an error.
pub async fn run_until(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    shutdown: impl Future,
) -> ToolResult<()> {
    serve(
        gateway,
        profile,
        stdin,
        stdout,
        &Limits::default(),
        shutdown,
    )
    .await
}

/// The same within other limits than the usual ones.
pub async fn run_within(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    limits: &Limits,
) -> ToolResult<()> {
    let shutdown = std::future::pending::<()>();
    serve(gateway, profile, stdin, stdout, limits, shutdown).await
}

async fn serve(
    gateway: Gateway,
    profile: &str,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Send + Unpin + 'static,
    limits: &Limits,
    shutdown: impl Future,
) -> ToolResult<()> {
    let Some(conversation) = gateway.begin(profile) else {
        return Err(no_such_profile(profile, &gateway));
    };
    let _ = conversation.face.set(pegboard_hub::ClientTransport::Stdio);
    let (writer, mut written) = Writer::start(stdout, limits.unread_bytes);
    let mut client = StdioClient {
        most: limits.requests_per_client * WAITING_PER_RUNNING,
        batch_messages: limits.batch_messages,
        running: Arc::new(Semaphore::new(limits.requests_per_client)),
        tasks: JoinSet::new(),
        long_lived: Vec::new(),
        writer: Arc::new(writer),
        conversation: conversation.clone(),
    };
    let mut lines = Lines::new(stdin, limits.request_bytes);
    let shutdown = async {
        shutdown.await;
    };
    let mut shutdown = pin!(shutdown);
    let mut moment = DRAIN_TIMEOUT;
    loop {
        let line = tokio::select! {
            line = lines.next() => line,
            () = &mut shutdown => {
                moment = SHUTDOWN_DRAIN_TIMEOUT;
                break;
            }
            // Nobody reads our answers any more.
            _ = &mut written => break,
            Some(_) = client.tasks.join_next() => continue,
        };
        match line {
            Ok(Some(line)) => client.take(line).await,
            Ok(None) => break,
            Err(error) => {
                tracing::warn!("standard input cannot be read: {error}");
                break;
            }
        }
    }
    let is_shutdown = moment == SHUTDOWN_DRAIN_TIMEOUT;
    let is_over = async {
        let time = tokio::time::sleep(moment);
        tokio::select! {
            () = time => {}
            // A client that closed its end may still send the signal.
            () = &mut shutdown, if !is_shutdown => {}
        }
    };
    client.end(&mut written, is_over).await;
    conversation.close();
    Ok(())
}

struct StdioClient {
    conversation: Arc<Conversation>,
    writer: Arc<Writer>,
    tasks: JoinSet<()>,
    /// Requests without an end of their own.
    long_lived: Vec<AbortHandle>,
    running: Arc<Semaphore>,
    most: usize,
    batch_messages: usize,
}

impl StdioClient {
    async fn take(&mut self, line: Line) {
        let text = match line {
            Line::Whole(text) => text,
            Line::TooLong(most) => {
                let why = format!("the message is larger than {most} bytes");
                return self.refuse(code::INVALID_REQUEST, &why).await;
            }
        };
        if batch::is_batch(&text) {
            return self.take_batch(&text).await;
        }
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(refused) => return self.writer.answer(refused).await,
        };
        match (message.kind(), message.method()) {
            (MessageKind::Notification | MessageKind::Response, _) => {
                self.conversation.take(message)
            }
            (MessageKind::Request, "initialize") => self.initialize(message).await,
            (MessageKind::Request, _) if self.tasks.len() >= self.most => {
                let why = "too many requests are under way; wait for some of their answers";
                let refused = message.refuse(200, code::INTERNAL, why);
                self.writer.answer(refused).await;
            }
            (MessageKind::Request, method) => {
                let is_long_lived = method == "subscriptions/listen";
                let (conversation, sink) = (self.conversation.clone(), self.sink());
                let task = self.spawn(conversation.answer(message, sink));
                if is_long_lived {
                    self.long_lived.retain(|task| !task.is_finished());
                    self.long_lived.push(task);
                }
            }
        }
    }

    /// The handshake is answered before anything else is heard, because it decides how the rest is meant.
    async fn initialize(&mut self, message: Message) {
        let (conversation, sink) = (self.conversation.clone(), self.sink());
        if let Some(answer) = conversation.answer(message, sink).await {
            self.writer.answer(answer).await;
        }
        if self.conversation.revision().is_some() {
            self.conversation.attach(self.sink());
        }
    }

    async fn take_batch(&mut self, text: &Bytes) {
        if self.conversation.revision() != Some(BATCH_REVISION) {
            let why = "one message per line: only revision 2025-03-26 has batches";
            return self.refuse(code::INVALID_REQUEST, why).await;
        }
        match batch::read_batch(text, self.batch_messages) {
            Err(refused) => self.writer.answer(refused).await,
            Ok(messages) => {
                let (conversation, sink) = (self.conversation.clone(), self.sink());
                self.spawn(batch::answer_batch(conversation, messages, sink));
            }
        }
    }

    fn spawn(
        &mut self,
        answer: impl Future<Output = Option<Response>> + Send + 'static,
    ) -> AbortHandle {
        let (running, writer) = (self.running.clone(), self.writer.clone());
        self.tasks.spawn(async move {
            let _place = running.acquire().await;
            if let Some(answer) = answer.await {
                writer.answer(answer).await;
            }
        })
    }

    fn sink(&self) -> Arc<dyn MessageSink> {
        self.writer.clone()
    }

    async fn refuse(&self, code: i64, why: &str) {
        let refused = Response::error(None, 400, &rpc(code, why));
        self.writer.answer(refused).await;
    }

    /// Lets requests under way end until `is_over` is done, and answers the others by an error.
    async fn end(
        mut self,
        written: &mut tokio::task::JoinHandle<()>,
        is_over: impl Future<Output = ()>,
    ) {
        self.long_lived.iter().for_each(AbortHandle::abort);
        let tasks = &mut self.tasks;
        tokio::select! {
            () = async { while tasks.join_next().await.is_some() {} } => {}
            _ = &mut *written => {}
            () = is_over => {}
        }
        self.conversation.end_requests();
        let answered = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FINAL_RESPONSE_TIMEOUT, answered).await;
        self.tasks.shutdown().await;
        self.writer.close();
        if !written.is_finished() {
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, &mut *written).await;
        }
    }
}

fn no_such_profile(profile: &str, gateway: &Gateway) -> ToolError {
    let names = gateway.profile_names();
    let message = match names.is_empty() {
        true => format!(
            "no profile `{}` is configured, and no other",
            UntrustedText::new(profile)
        ),
        false => format!(
            "no profile `{}` is configured; there are {}",
            UntrustedText::new(profile),
            names.join(", ")
        ),
    };
    ToolError::new(Reason::ProfileUnknown, message)
}
