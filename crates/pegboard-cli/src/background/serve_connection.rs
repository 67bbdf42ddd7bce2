//! Serves one connection to the process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pegboard_background::{
    Confinement, ControlMessage, Hello, Peer, ProcessKind, ProcessPhase, Reply, Request, Variables,
    common_protocol, read_message, receive_request, write_message,
};
use pegboard_gateway::stdio::{ResumedSession, run_shared};
use tokio::net::unix::pipe;

use super::clients::{Client, ClientKind};
use super::process::Process;
use super::views::{Notes, ViewUse};

/// How long a client may take for each message until it is served.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(3);

/// Reads the first message of a connection and does what it requests.
pub(super) async fn serve(process: &Process, stream: UnixStream) {
    let Ok(peer) = Peer::of(&stream) else { return };
    if !peer.is_same_user() {
        return;
    }
    let Ok((stream, request, descriptors)) = receive(stream).await else {
        return;
    };
    // A process of the same user can end this one in any case, so only those that read or call something are identified.
    let is_harmless = matches!(request, Request::Stop | Request::Retire);
    if let Some(reason) = refusal(peer).filter(|_| !is_harmless) {
        return reply(stream, Reply::Alone { reason }).await;
    }
    match request {
        Request::Serve(hello) => {
            if let Some(descriptors) = descriptors {
                serve_client(process, *hello, descriptors, stream, peer).await;
            }
        }
        Request::Call(command) => super::serve_call::run(process, *command, stream, peer).await,
        Request::Status => {
            let status = Box::new(process.status());
            reply(stream, Reply::Status { status }).await;
        }
        Request::Stop => {
            reply(stream, Reply::Stopping).await;
            process.stop();
        }
        Request::Retire if process.kind == ProcessKind::Foreground => {
            let reason = "the process runs in the foreground".to_owned();
            reply(stream, Reply::Alone { reason }).await;
        }
        Request::Retire => {
            process.retire();
            reply(stream, Reply::Stopping).await;
        }
    }
}

type Received = (UnixStream, Request, Option<[OwnedFd; 2]>);

async fn receive(mut stream: UnixStream) -> io::Result<Received> {
    blocking(move || {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(MESSAGE_TIMEOUT))?;
        stream.set_write_timeout(Some(MESSAGE_TIMEOUT))?;
        let (request, descriptors) = receive_request(&mut stream)?;
        Ok((stream, request, descriptors))
    })
    .await
}

pub(super) async fn reply(mut stream: UnixStream, reply: Reply) {
    // A client that does not wait for the reply does not need it.
    let _ = blocking(move || write_message(&mut stream, &reply)).await;
}

async fn serve_client(
    process: &Process,
    hello: Hello,
    [input, output]: [OwnedFd; 2],
    stream: UnixStream,
    peer: Peer,
) {
    let Some((stream, view, notes)) = open_view(process, &hello, stream).await else {
        return;
    };
    if let Some(reason) = unusable(&hello, &view) {
        return reply(stream, Reply::Alone { reason }).await;
    }
    let pipes = pipe::Receiver::from_owned_fd(input)
        .and_then(|input| Ok((input, pipe::Sender::from_owned_fd(output)?)));
    let (Ok((input, output)), Ok(control)) = (pipes, stream.try_clone()) else {
        return;
    };
    let profile = hello.profile.clone();
    let client = Client::new(
        ClientKind::Bridge,
        peer.pid,
        profile,
        view.view().clone(),
        control,
    );
    // Registered before the reply, so that a process that retires waits for the client.
    let Some(registered) = process.clients.register(client) else {
        let reason = "the process has too many clients".to_owned();
        return reply(stream, Reply::Alone { reason }).await;
    };
    if process.phase() != ProcessPhase::Serving {
        return reply(stream, Reply::Retry).await;
    }
    let serving = Reply::Serving {
        protocol: common_protocol(&hello.protocols).unwrap_or(0),
        notes,
    };
    reply(stream, serving).await;
    let client = registered.client.clone();
    client.accept();
    if process.phase() != ProcessPhase::Serving {
        client.send(&ControlMessage::Move);
    }
    let resumed = hello.resume.map(|resume| ResumedSession {
        id: resume.token,
        level: resume.level,
        subscriptions: resume.subscriptions,
    });
    let (gateway, shutdown) = (view.gateway.clone(), process.stopped());
    // The profile and the session were checked before.
    let _ = run_shared(
        gateway,
        &hello.profile,
        input,
        output,
        resumed,
        client,
        shutdown,
    )
    .await;
}

/// Returns why a peer is not served: it could reach more through this process than by itself.
fn refusal(peer: Peer) -> Option<String> {
    // Served by a process outside, a client in a sandbox would escape from it.
    let difference = match (Confinement::own(), Confinement::of(peer.pid)) {
        (Some(own), Some(other)) => own.difference(&other),
        _ => Some("process information"),
    };
    if let Some(name) = difference {
        return Some(format!(
            "the client runs in another sandbox ({name} differs)"
        ));
    }
    pegboard_upstream::is_marked(peer.pid)
        .then(|| "the client was started by an MCP server".to_owned())
}

/// Returns why the view cannot serve a client.
fn unusable(hello: &Hello, view: &ViewUse) -> Option<String> {
    if !view.gateway.has_profile(&hello.profile) {
        return Some("the profile does not exist".to_owned());
    }
    let token = &hello.resume.as_ref()?.token;
    match view.gateway.session(&hello.profile, token) {
        Some(_) => None,
        None => Some("the session was begun with another key".to_owned()),
    }
}

/// Asks the client for its variables and opens its view. Replies with the reason and returns `None` if the client must
/// serve itself or connect again.
pub(super) async fn open_view(
    process: &Process,
    hello: &Hello,
    stream: UnixStream,
) -> Option<(UnixStream, ViewUse, Notes)> {
    if process.must_retire() {
        process.retire();
    }
    if process.phase() != ProcessPhase::Serving {
        reply(stream, Reply::Retry).await;
        return None;
    }
    match try_open_view(process, hello, &stream).await {
        Ok((view, notes)) => Some((stream, view, notes)),
        Err(reason) => {
            reply(stream, Reply::Alone { reason }).await;
            None
        }
    }
}

async fn try_open_view(
    process: &Process,
    hello: &Hello,
    stream: &UnixStream,
) -> Result<(ViewUse, Notes), String> {
    if common_protocol(&hello.protocols).is_none() {
        return Err("the versions of client and process have no protocol in common".to_owned());
    }
    let needed = process.views.needed_variables(hello);
    let needed = needed.map_err(|error| error.message.clone())?;
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let question = Reply::Variables {
        prefixes: owned(&needed.prefixes),
        suffixes: owned(&needed.suffixes),
        names: needed.names.into_iter().collect(),
    };
    let variables = ask(stream, question).await?;
    let view = process.views.get_or_open(hello, variables.values).await;
    view.map_err(|failure| failure.message().to_owned())
}

async fn ask(stream: &UnixStream, question: Reply) -> Result<Variables, String> {
    let mut handle = stream
        .try_clone()
        .map_err(|_| "no file descriptor is left".to_owned())?;
    let asked = blocking(move || {
        write_message(&mut handle, &question)?;
        read_message::<Variables>(&mut handle)
    });
    let variables = asked.await;
    variables.map_err(|error| format!("no variables were received: {error}"))
}

/// Runs blocking work on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(_) => Err(io::Error::other("the work was cancelled")),
    }
}
