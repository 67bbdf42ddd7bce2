//! `pegboard stdio`: serves one MCP client over standard input and output.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::Arc;

use clap::Args;
use pegboard::Pegboard;
use pegboard::dashboard::ConfigReloader;
use pegboard_config::Watcher;
use pegboard_gateway::Gateway;
use pegboard_gateway::stdio::{ResumedSession, run_shared};
use pegboard_model::{Reason, ToolError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::Notify;

use super::serve::{STARTUP_GRACE, follow_config, run_housekeeping};
use super::{
    CommandResult, Global, Output, builder, interrupted, load_config, note_if_empty, open_unread,
};
use crate::background::{Bridged, Rest, bridge};

#[derive(Args)]
pub(crate) struct StdioArgs {
    /// The profile of the config file that selects what the client sees
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Serve this client in this process, without the background process that others share
    #[arg(long)]
    pub(crate) alone: bool,
}

pub(crate) fn run(args: &StdioArgs, global: &Global, output: &Output) -> CommandResult {
    // Logs on standard error are those of this process.
    let is_shared = !args.alone && global.log_level.is_none();
    let rest = match is_shared.then(|| bridge(global, args.profile.as_deref())) {
        Some(Bridged::Done) => return Ok(()),
        Some(Bridged::Alone(rest)) => rest,
        None => Rest::default(),
    };
    crate::hide_memory();
    let configuration = load_config(global, output)?;
    if !rest.reason.is_empty() {
        tracing::debug!("serving this client alone: {}", rest.reason);
    }
    note_if_empty(&configuration, output);
    // One thread is enough for one client, and starts faster.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            let message = format!("cannot start the async runtime: {error}");
            ToolError::new(Reason::Internal, message)
        })?;
    let result = runtime.block_on(async {
        let pegboard = open_unread(configuration, builder(global), output)?;
        let gateway = pegboard.gateway();
        let profile = args.profile.as_deref().unwrap_or_default();
        let result = tokio::select! {
            result = serve_client(gateway.clone(), profile, rest) => result,
            () = run_background_tasks(&pegboard, || reloader(&pegboard, &gateway), output) => Ok(()),
        };
        gateway.close();
        pegboard.shut_down().await;
        // The process exits now; freeing thousands of tools one by one would only take time.
        std::mem::forget(pegboard);
        result.map_err(Into::into)
    });
    // A blocking read of a terminal may still be waiting for a line.
    runtime.shutdown_background();
    result
}

async fn serve_client(gateway: Gateway, profile: &str, rest: Rest) -> Result<(), ToolError> {
    let lost = |error: io::Error| {
        let message = format!("cannot use standard input or output: {error}");
        ToolError::new(Reason::Internal, message)
    };
    let (input, output) = (input().map_err(lost)?, output().map_err(lost)?);
    let input = io::Cursor::new(rest.unsent).chain(input);
    let resumed = rest.resume.map(|resume| ResumedSession {
        id: resume.token,
        level: resume.level,
        subscriptions: resume.subscriptions,
    });
    run_shared(
        gateway,
        profile,
        input,
        output,
        resumed,
        Arc::new(()),
        interrupted(),
    )
    .await
}

fn reloader(pegboard: &Pegboard, gateway: &Gateway) -> Arc<ConfigReloader> {
    Arc::new(ConfigReloader::new(pegboard, gateway))
}

/// Keeps a Pegboard up to date that serves clients, forever. `reload` is called after the first clients were served.
pub(crate) async fn run_background_tasks(
    pegboard: &Pegboard,
    reload: impl FnOnce() -> Arc<ConfigReloader>,
    output: &Output,
) {
    tokio::time::sleep(STARTUP_GRACE).await;
    // A client has a session even before it requests a list.
    pegboard.hub().start_deferred_session();
    // Ends orphans of an earlier run that was killed. Nothing is printed: stderr belongs to the client.
    drop(tokio::task::spawn_blocking(
        pegboard_upstream::sweep_orphans,
    ));
    let changed = Arc::new(Notify::new());
    let mut files = pegboard.configuration().loaded.watch_list();
    let state = pegboard.configuration().state.path();
    files.extend(["trust.json", "secrets.json"].map(|name| state.join(name)));
    let (reload, signal) = (reload(), changed.clone());
    let read = &pegboard.configuration().loaded.contents;
    let watcher = Watcher::start(files, read, move || signal.notify_one());
    if let Err(problem) = &watcher {
        output.note(&problem.to_string());
    }
    tokio::join!(
        run_housekeeping(pegboard.hub()),
        follow_config(&reload, None, &changed, output)
    );
}

pub(super) type StdioReader = Box<dyn AsyncRead + Send + Unpin>;
type StdioWriter = Box<dyn AsyncWrite + Send + Unpin>;

/// The kind of a standard stream. Clients use pipes or sockets, which the runtime polls; anything else is read and
/// written on a separate thread.
enum StdioHandle {
    Pipe(OwnedFd),
    Socket(OwnedFd),
    Other,
}

impl StdioHandle {
    fn of(fd: impl AsFd) -> io::Result<Self> {
        let file = File::from(fd.as_fd().try_clone_to_owned()?);
        let kind = file.metadata()?.file_type();
        Ok(match (kind.is_fifo(), kind.is_socket()) {
            (true, _) => Self::Pipe(file.into()),
            (_, true) => Self::Socket(file.into()),
            _ => Self::Other,
        })
    }
}

fn input() -> io::Result<StdioReader> {
    Ok(match StdioHandle::of(io::stdin())? {
        StdioHandle::Pipe(fd) => Box::new(pipe::Receiver::from_owned_fd(fd)?),
        StdioHandle::Socket(fd) => Box::new(socket(fd)?),
        StdioHandle::Other => Box::new(tokio::io::stdin()),
    })
}

/// Returns standard input if it is a pipe or a socket, whose end the runtime can wait for.
pub(super) fn piped_input() -> io::Result<Option<StdioReader>> {
    Ok(match StdioHandle::of(io::stdin())? {
        StdioHandle::Other => None,
        _ => Some(input()?),
    })
}

fn output() -> io::Result<StdioWriter> {
    Ok(match StdioHandle::of(io::stdout())? {
        StdioHandle::Pipe(fd) => Box::new(pipe::Sender::from_owned_fd(fd)?),
        StdioHandle::Socket(fd) => Box::new(socket(fd)?),
        StdioHandle::Other => Box::new(tokio::io::stdout()),
    })
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdUnixStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
