//! Runs one call for a command, which shows its prompts and its result.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pegboard_background::{CallCommand, CallMessage, CallStart, Peer, PromptAnswer, Reply, encode};
use pegboard_hub::{ApprovalPrompt, Approver, PromptResponse};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};

use super::clients::{Client, ClientKind};
use super::process::Process;
use super::serve_connection::{open_view, reply};
use crate::commands::call::{CallArgs, Called, call_tool, pending_note, renew_if_stale};
use crate::failure::Failure;

/// How long a command may take to confirm the call.
const START_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest answer of a command.
const ANSWER_BYTES: usize = 4096;
/// Answers and notes that wait. A command sends one answer for each prompt.
const QUEUE_MAX: usize = 4;

/// Runs the call of a command in the view that the command has, and sends the result.
pub(super) async fn run(
    process: &Process,
    command: CallCommand,
    stream: StdUnixStream,
    peer: Peer,
) {
    let Some((stream, view, notes)) = open_view(process, &command.hello, stream).await else {
        return;
    };
    let Ok(control) = stream.try_clone() else {
        return;
    };
    let client = Client::new(
        ClientKind::Command,
        peer.pid,
        String::new(),
        view.view().clone(),
        control,
    );
    let Some(_registered) = process.clients.register(client) else {
        let reason = "the process has too many clients".to_owned();
        return reply(stream, Reply::Alone { reason }).await;
    };
    let Ok(again) = stream.try_clone() else {
        return;
    };
    let protocol = pegboard_background::CALLS_PROTOCOL;
    reply(again, Reply::Serving { protocol, notes }).await;
    let Ok((mut reader, writer)) = split(stream) else {
        return;
    };
    // A command that did not wait for the reply has run the call itself.
    let started = tokio::time::timeout(START_TIMEOUT, read_one::<CallStart>(&mut reader));
    if !matches!(started.await, Ok(Some(_))) {
        return;
    }
    let (answered, answers) = mpsc::channel(QUEUE_MAX);
    let (notes, noted) = mpsc::channel(QUEUE_MAX);
    let connection = Arc::new(Connection {
        writer: Mutex::new(writer),
        answers: Mutex::new(answers),
        notes,
        can_ask: command.can_ask,
    });
    let args = CallArgs {
        tool: command.tool,
        arguments: command.arguments,
        args: command.object,
        yes: false,
        alone: false,
    };
    let hub = view.pegboard.hub();
    let called = tokio::select! {
        called = call_tool(&args, hub, Some(connection.clone())) => called,
        // Without the command the call is cancelled, as an interrupted command does it by itself.
        () = read_answers(reader, answered) => return,
        never = connection.forward(noted) => match never {},
        () = process.stopped() => return,
    };
    connection.finish(&called).await;
    if let Ok(called) = called {
        renew_if_stale(&called, hub).await;
    }
}

fn split(stream: StdUnixStream) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
    stream.set_nonblocking(true)?;
    Ok(UnixStream::from_std(stream)?.into_split())
}

/// Passes on the answers of a person until the command ends.
async fn read_answers(mut reader: OwnedReadHalf, answers: mpsc::Sender<PromptAnswer>) {
    while let Some(answer) = read_one(&mut reader).await {
        if answers.send(answer).await.is_err() {
            return;
        }
    }
}

/// Reads one message. Returns `None` if the command has ended or sends something else.
async fn read_one<T: DeserializeOwned>(reader: &mut OwnedReadHalf) -> Option<T> {
    let length = usize::try_from(reader.read_u32_le().await.ok()?).ok()?;
    if length > ANSWER_BYTES {
        return None;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// The command on the other side of the socket.
struct Connection {
    writer: Mutex<OwnedWriteHalf>,
    answers: Mutex<mpsc::Receiver<PromptAnswer>>,
    /// Notes that are sent while the call runs.
    notes: mpsc::Sender<CallMessage>,
    can_ask: bool,
}

impl Connection {
    /// Sends the notes of the call, forever.
    async fn forward(&self, mut notes: mpsc::Receiver<CallMessage>) -> std::convert::Infallible {
        while let Some(note) = notes.recv().await {
            // A command that is gone ends the call.
            let _ = self.send(&note).await;
        }
        std::future::pending().await
    }

    async fn send(&self, message: &impl Serialize) -> io::Result<()> {
        let bytes = encode(message)?;
        self.writer.lock().await.write_all(&bytes).await
    }

    /// Sends the result. A command that is gone does not need it.
    async fn finish(&self, called: &Result<Called, Failure>) {
        let _ = match called {
            Ok(called) => self.send_result(called).await,
            Err(failure) => {
                let error = serde_json::to_value(failure.error()).unwrap_or_default();
                self.send(&CallMessage::Failed { error }).await
            }
        };
    }

    async fn send_result(&self, called: &Called) -> io::Result<()> {
        let result = called.outcome.result.get().as_bytes();
        let head = CallMessage::Result {
            bytes: result.len() as u64,
            is_error: called.outcome.is_error,
            notes: called.warnings.clone(),
        };
        let mut writer = self.writer.lock().await;
        writer.write_all(&encode(&head)?).await?;
        writer.write_all(result).await
    }
}

#[async_trait]
impl Approver for Connection {
    fn can_ask(&self) -> bool {
        self.can_ask
    }

    async fn ask(&self, prompt: ApprovalPrompt) -> PromptResponse {
        let question = CallMessage::Ask {
            text: prompt.text(),
            tool: prompt.tool.clone(),
        };
        let mut answers = self.answers.lock().await;
        if self.send(&question).await.is_err() {
            return PromptResponse::Unavailable;
        }
        match answers.recv().await {
            Some(PromptAnswer::Allow) => PromptResponse::Allow,
            Some(PromptAnswer::AllowAlways) => PromptResponse::AllowAlways,
            Some(PromptAnswer::Refuse) => PromptResponse::Refuse,
            Some(PromptAnswer::Unavailable) | None => PromptResponse::Unavailable,
        }
    }

    fn waits_in_inbox(&self, id: &str) {
        let text = pending_note(id);
        // One call waits once or twice, so there is always room.
        let _ = self.notes.try_send(CallMessage::Note { text });
    }
}
