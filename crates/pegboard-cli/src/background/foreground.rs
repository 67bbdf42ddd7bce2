//! `pegboard up` and `pegboard serve` as the process that all clients of the user share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pegboard::dashboard::ConfigReloader;
use pegboard::{Configuration, Pegboard};
use pegboard_background::{Hello, ProcessKind, Request, find_process};
use pegboard_config::Environment;
use pegboard_gateway::Gateway;
use pegboard_hub::ServerPool;
use tokio::net::UnixListener;
use tokio::time::Instant;

use super::bridge::hello;
use super::process::Process;
use super::{ask, reason_not_to_share};
use crate::args::Global;
use crate::output::Output;

/// How long a background process may take to hand over.
const HANDOVER_TIMEOUT: Duration = Duration::from_secs(5);
const HANDOVER_INTERVAL: Duration = Duration::from_millis(10);
/// How often this process tries again to become the one that clients find, and checks that it still is.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// A process in the foreground that also serves the clients of the socket.
pub(crate) struct Foreground {
    /// Knows all clients and instances, also those over HTTP.
    pub(crate) process: Arc<Process>,
    state: PathBuf,
    environment: Environment,
    hello: Hello,
}

impl Foreground {
    /// Returns `None` if sharing is off.
    pub(crate) fn new(
        global: &Global,
        configuration: &Configuration,
        output: &Output,
    ) -> Option<Self> {
        let environment = configuration.environment.clone();
        if reason_not_to_share(&environment).is_some() {
            return None;
        }
        let state = configuration.state.path().to_owned();
        Some(Self {
            process: Process::new(ProcessKind::Foreground, state.clone(), output.clone()),
            state,
            hello: hello(global, &environment, ""),
            environment,
        })
    }

    /// The pool through which the Pegboard of the foreground shares its servers with the other views.
    pub(crate) fn pool(&self) -> ServerPool {
        self.process.pool().clone()
    }

    /// Makes the Pegboard of the foreground the view of clients with the same configuration, and the process known to
    /// clients unless another one is.
    pub(crate) fn open(
        &self,
        pegboard: &Arc<Pegboard>,
        gateway: &Gateway,
        reload: &Arc<ConfigReloader>,
        url: &str,
    ) -> Option<UnixListener> {
        let _ = self.process.url.set(url.to_owned());
        let views = &self.process.views;
        // Clients get a view of their own if the variables of this one cannot be determined.
        let _ = views.adopt(&self.hello, &self.environment, pegboard, gateway, reload);
        self.take().ok().flatten()
    }

    /// Serves the clients of the socket until the process is asked to stop. A background process hands its clients
    /// over. If another process keeps them, that is reported, and this one takes its place when it ends.
    pub(crate) async fn serve(&self, mut listener: Option<UnixListener>, output: &Output) {
        let mut reported = false;
        loop {
            if listener.is_none() {
                listener = match self.take_over().await {
                    Ok(listener) => Some(listener),
                    Err(reason) => {
                        if !std::mem::replace(&mut reported, true) {
                            output.note(&reason);
                        }
                        None
                    }
                };
            }
            let serving = async {
                match listener.take() {
                    Some(listener) => self.process.accept(listener).await,
                    None => tokio::time::sleep(RETRY_INTERVAL).await,
                }
            };
            tokio::select! {
                () = serving => {}
                () = self.process.check() => {}
                () = self.is_lost() => self.process.announcement.release(),
                () = self.process.stopped() => return,
            }
        }
    }

    /// Disconnects the clients of the socket and closes their views. The view of the foreground stays open.
    pub(crate) async fn end(&self) {
        self.process.end_clients().await;
        self.process.views.close_all().await;
    }

    /// Completes when clients cannot find this process any more.
    async fn is_lost(&self) {
        while self.process.announcement.is_intact() {
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    fn take(&self) -> std::io::Result<Option<UnixListener>> {
        let (announcement, url) = (&self.process.announcement, self.process.url.get());
        announcement.take(
            &self.state,
            &self.environment,
            ProcessKind::Foreground,
            url.cloned(),
        )
    }

    /// Becomes the process that clients find. The error says why not, for the user.
    async fn take_over(&self) -> Result<UnixListener, String> {
        let deadline = Instant::now() + HANDOVER_TIMEOUT;
        loop {
            let taken = self.take();
            let taken = taken.map_err(|error| format!("stdio clients are not shared: {error}"))?;
            if let Some(listener) = taken {
                return Ok(listener);
            }
            match find_process(&self.state) {
                Some(other) if other.kind == ProcessKind::Foreground => {
                    let place = other.url.unwrap_or_default();
                    return Err(format!(
                        "Pegboard already runs at {place} (process {}) and serves the stdio clients",
                        other.pid
                    ));
                }
                Some(_) => {
                    let state = self.state.clone();
                    let asked = move || ask(&state, &Request::Retire);
                    let _ = tokio::task::spawn_blocking(asked).await;
                }
                None => {}
            }
            if Instant::now() >= deadline {
                return Err("stdio clients are not shared: another process serves them".to_owned());
            }
            tokio::time::sleep(HANDOVER_INTERVAL).await;
        }
    }
}
