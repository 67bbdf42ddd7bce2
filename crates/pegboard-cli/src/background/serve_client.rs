//! Serves one connection to the background process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pegboard_background::{
    Confinement, ControlMessage, Hello, PROTOCOLS, Peer, Reply, Request, Variables, read_message,
    receive_request, write_message,
};
use pegboard_gateway::stdio::{ResumedSession, run_shared};
use tokio::net::unix::pipe;

use super::clients::Client;
use super::process::Process;

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
    match request {
        Request::Serve(hello) => {
            if let Some(descriptors) = descriptors {
                serve_client(process, *hello, descriptors, stream, peer).await;
            }
        }
        Request::Status => {
            reply(
                stream,
                Reply::Status {
                    status: process.status().await,
                },
            )
            .await
        }
        Request::Stop => {
            reply(stream, Reply::Stopping).await;
            process.stop();
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

async fn reply(mut stream: UnixStream, reply: Reply) {
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
    if process.is_replaced() {
        process.retire();
        return reply(stream, Reply::Retry).await;
    }
    if let Some(reason) = refusal(&hello, peer) {
        return reply(stream, Reply::Alone { reason }).await;
    }
    let (stream, view) = match open_view(process, &hello, stream).await {
        Ok(opened) => opened,
        Err((stream, reason)) => return reply(stream, Reply::Alone { reason }).await,
    };
    let pipes = pipe::Receiver::from_owned_fd(input)
        .and_then(|input| Ok((input, pipe::Sender::from_owned_fd(output)?)));
    let (Ok((input, output)), Ok(control)) = (pipes, stream.try_clone()) else {
        return;
    };
    let serving = Reply::Serving {
        protocol: PROTOCOLS.first().copied().unwrap_or(0),
        notes: view.notes.clone(),
    };
    reply(stream, serving).await;
    let client = Client::new(peer.pid, hello.folder, hello.profile.clone(), control);
    let registered = process.clients().register(client);
    let client = registered.client.clone();
    let resumed = hello.resume.map(|resume| ResumedSession {
        id: resume.token,
        level: resume.level,
        subscriptions: resume.subscriptions,
    });
    let on_session = move |token: &str| {
        let token = token.to_owned();
        client.send(&ControlMessage::Session { token });
    };
    let gateway = view.gateway.clone();
    let shutdown = process.stopped();
    // The profile and the session were checked before.
    let _ = run_shared(
        gateway,
        &hello.profile,
        input,
        output,
        resumed,
        on_session,
        shutdown,
    )
    .await;
}

/// Returns why a client must serve itself.
fn refusal(hello: &Hello, peer: Peer) -> Option<String> {
    if !hello
        .protocols
        .iter()
        .any(|number| PROTOCOLS.contains(number))
    {
        return Some("the versions of client and process have no protocol in common".to_owned());
    }
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

type Opened = (UnixStream, super::views::ViewUse);

/// Asks the client for its variables and opens its view. The error has the reason for which the client serves itself.
async fn open_view(
    process: &Process,
    hello: &Hello,
    stream: UnixStream,
) -> Result<Opened, (UnixStream, String)> {
    let views = process.views();
    let needed = match views.needed_variables(hello) {
        Ok(needed) => needed,
        Err(error) => return Err((stream, error.message.clone())),
    };
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let question = Reply::Variables {
        prefixes: owned(&needed.prefixes),
        suffixes: owned(&needed.suffixes),
        names: needed.names.into_iter().collect(),
    };
    let (stream, variables) = ask(stream, question).await?;
    let view = match views.get_or_open(hello, variables.values) {
        Ok(view) => view,
        Err(failure) => return Err((stream, failure.message().to_owned())),
    };
    if !view.gateway.has_profile(&hello.profile) {
        return Err((stream, "the profile does not exist".to_owned()));
    }
    let resumed = hello.resume.as_ref();
    let is_known = |token: &str| view.gateway.session(&hello.profile, token).is_some();
    if resumed.is_some_and(|resume| !is_known(&resume.token)) {
        return Err((stream, "the session was begun with another key".to_owned()));
    }
    Ok((stream, view))
}

async fn ask(
    stream: UnixStream,
    question: Reply,
) -> Result<(UnixStream, Variables), (UnixStream, String)> {
    let Ok(mut handle) = stream.try_clone() else {
        return Err((stream, "no file descriptor is left".to_owned()));
    };
    let asked = blocking(move || {
        write_message(&mut handle, &question)?;
        read_message::<Variables>(&mut handle)
    });
    match asked.await {
        Ok(variables) => Ok((stream, variables)),
        Err(error) => Err((stream, format!("no variables were received: {error}"))),
    }
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
