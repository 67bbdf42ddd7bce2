//! Supervises a child process from its start until none of its processes is left.

use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use pegboard_model::{Reason, ToolError};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::errors::ErrorContext;
use crate::kill::{ProcessGroup, StopMode, kill_leftovers, stop};
use crate::sandbox::{Confinement, LimitWatch, over_limit};
use crate::stderr::Ring;
use crate::stdio_rpc::{ReadEnd, ReaderHandle, StdioRpc};

/// How long a server that closed its stdout may take to end.
const AFTER_OUTPUT_CLOSED: Duration = Duration::from_secs(1);
/// How long the remaining output of an ended server may take to be read; an escaped process may keep the pipe open.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// A handle to the child. Dropping it kills the child.
pub(crate) struct ProcessHandle {
    pub(crate) group: Arc<ProcessGroup>,
    orders: watch::Sender<Option<StopMode>>,
    gone: watch::Receiver<bool>,
}

impl ProcessHandle {
    /// Stops the child and waits until none of its processes is left.
    pub(crate) async fn stop(&self, mode: StopMode) {
        self.orders
            .send_modify(|order| *order = Some(order.map_or(mode, |given| given.max(mode))));
        let mut gone = self.gone.clone();
        // An error means that the task is gone with its runtime; then the group is killed when its handle is dropped.
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        // The runtime may be shutting down, so the kill happens synchronously.
        self.group.signal(rustix::process::Signal::KILL);
    }
}

/// The state of the supervising task.
pub(crate) struct Supervisor {
    pub(crate) child: Child,
    pub(crate) group: Arc<ProcessGroup>,
    pub(crate) rpc: Arc<StdioRpc>,
    pub(crate) reading: ReaderHandle,
    pub(crate) stderr_task: JoinHandle<()>,
    pub(crate) stderr: Ring,
    pub(crate) errors: ErrorContext,
    /// The limits of its sandbox.
    pub(crate) limits: Option<LimitWatch>,
    /// Keeps the proxy of its sandbox running.
    pub(crate) confinement: Option<Arc<Confinement>>,
}

/// Starts the supervising task.
pub(crate) fn supervise(watched: Supervisor) -> ProcessHandle {
    let (orders, order) = watch::channel(None);
    let (is_gone, gone) = watch::channel(false);
    let group = Arc::clone(&watched.group);
    tokio::spawn(async move {
        watched.run(order).await;
        is_gone.send_replace(true);
    });
    ProcessHandle {
        group,
        orders,
        gone,
    }
}

enum Event {
    Exited(Option<ExitStatus>),
    Read(ReadEnd),
    Ordered(StopMode),
    OverLimit(ToolError),
}

impl Supervisor {
    async fn run(mut self, mut order: watch::Receiver<Option<StopMode>>) {
        let confinement = self.confinement.take();
        let event = self.next_event(&mut order).await;
        self.handle(event, order).await;
        // A process that escaped its group and mark must not block these tasks.
        self.reading.task.abort();
        self.stderr_task.abort();
        drop(confinement);
    }

    async fn next_event(&mut self, order: &mut watch::Receiver<Option<StopMode>>) -> Event {
        let (pid, mark) = (self.group.pid(), self.group.mark());
        let limit = over_limit(self.limits.as_ref(), pid, mark, &self.errors);
        tokio::select! {
            error = limit => Event::OverLimit(error),
            status = self.child.wait() => Event::Exited(status.ok()),
            read = &mut self.reading.end => Event::Read(read.unwrap_or(ReadEnd::Closed)),
            mode = ordered(order) => Event::Ordered(mode),
        }
    }

    async fn handle(&mut self, event: Event, mut order: watch::Receiver<Option<StopMode>>) {
        match event {
            Event::Exited(status) => self.exited(status).await,
            Event::Read(ReadEnd::Broken(error)) | Event::OverLimit(error) => {
                self.rpc.finish(error);
                self.stop(StopMode::Immediate).await;
            }
            Event::Read(ReadEnd::Closed) => {
                match timeout(AFTER_OUTPUT_CLOSED, self.child.wait()).await {
                    Ok(status) => {
                        kill_leftovers(&self.group).await;
                        self.finish_exited(status.ok(), None).await;
                    }
                    Err(_) => {
                        let error = self.errors.error(
                            Reason::ServerExited,
                            "closed its standard output and was stopped",
                        );
                        self.rpc
                            .finish(self.errors.with_stderr(error, &self.stderr.text()));
                        self.stop(StopMode::Firm).await;
                    }
                }
            }
            Event::Ordered(mode) => {
                self.rpc
                    .finish(self.errors.error(Reason::Cancelled, "was stopped"));
                // A more urgent order may arrive while this one is carried out.
                let rpc = Arc::clone(&self.rpc);
                let stopping = stop(&mut self.child, &self.group, mode, || rpc.close_input());
                let escalated = order.wait_for(|order| order.is_some_and(|given| given > mode));
                let is_escalated = tokio::select! {
                    _ = stopping => false,
                    _ = escalated => true,
                };
                if is_escalated {
                    self.stop(StopMode::Immediate).await;
                }
            }
        }
    }

    async fn stop(&mut self, mode: StopMode) {
        let rpc = Arc::clone(&self.rpc);
        stop(&mut self.child, &self.group, mode, || rpc.close_input()).await;
    }

    /// Handles the exit of the child: kills its group, then reads its remaining output.
    async fn exited(&mut self, status: Option<ExitStatus>) {
        kill_leftovers(&self.group).await;
        let read = timeout(DRAIN_TIME, &mut self.reading.end).await;
        let broken = match read {
            Ok(Ok(ReadEnd::Broken(error))) => Some(error),
            _ => None,
        };
        self.finish_exited(status, broken).await;
    }

    /// Describes that the server never sent a protocol message, with the first line it wrote instead.
    fn protocol_note(&self) -> String {
        let inbound = &self.rpc.inbound;
        match (inbound.has_protocol_message(), inbound.first_noise()) {
            (true, _) => String::new(),
            (false, None) => " without speaking MCP".to_owned(),
            (false, Some(line)) => {
                let line = self.errors.preview(line.as_bytes());
                format!(" without speaking MCP; its output begins with \"{line}\"")
            }
        }
    }

    async fn finish_exited(&mut self, status: Option<ExitStatus>, broken: Option<ToolError>) {
        let _ = timeout(DRAIN_TIME, &mut self.stderr_task).await;
        let error = broken.unwrap_or_else(|| {
            let what = ended_with(status) + &self.protocol_note();
            let error = self.errors.error(Reason::ServerExited, what);
            self.errors.with_stderr(error, &self.stderr.text())
        });
        self.rpc.finish(error);
        self.rpc.close_input();
    }
}

/// Waits for an order. A dropped handle is the order to kill at once.
async fn ordered(order: &mut watch::Receiver<Option<StopMode>>) -> StopMode {
    match order.wait_for(Option::is_some).await {
        Ok(order) => order.unwrap_or(StopMode::Immediate),
        Err(_) => StopMode::Immediate,
    }
}

fn ended_with(status: Option<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.map(|status| (status.code(), status.signal())) {
        Some((Some(code), _)) => format!("ended with exit code {code}"),
        Some((None, Some(signal))) => format!("was ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}
