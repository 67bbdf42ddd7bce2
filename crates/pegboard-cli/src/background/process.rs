//! The process that serves all clients of a user: in the background, or as `pegboard up` in the foreground.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pegboard_background::{ControlMessage, ProcessKind, ProcessPhase};
use pegboard_hub::{ServerPool, SystemClock};
use pegboard_model::{Clock, Limits, Timestamp};
use tokio::net::UnixListener;
use tokio::sync::watch;

use super::activation::turn_away_all;
use super::clients::Clients;
use super::listener::Announcement;
use super::replaced::ProgramFile;
use super::serve_connection::serve;
use super::views::Views;
use crate::output::Output;

/// How often the process looks for unused views and a new version of its program.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long clients without an open request may take to leave when the process stops.
const MOVE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long clients may take to end when the process stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// The one place that knows all clients, views and server instances of this process.
pub(crate) struct Process {
    pub(super) clients: Clients,
    pub(super) views: Views,
    pub(super) announcement: Announcement,
    pub(super) kind: ProcessKind,
    pub(super) started: Timestamp,
    /// The address of the HTTP endpoint, once there is one.
    pub(super) url: OnceLock<String>,
    pool: ServerPool,
    program: ProgramFile,
    phase: watch::Sender<ProcessPhase>,
}

impl Process {
    pub(crate) fn new(kind: ProcessKind, state: std::path::PathBuf, output: Output) -> Arc<Self> {
        let pool = ServerPool::new(Limits::default());
        Arc::new(Self {
            clients: Clients::default(),
            views: Views::new(state, output, pool.clone()),
            announcement: Announcement::default(),
            kind,
            started: SystemClock.now(),
            url: OnceLock::new(),
            pool,
            program: ProgramFile::own(),
            phase: watch::Sender::new(ProcessPhase::Serving),
        })
    }

    /// The pool that all views share.
    pub(crate) fn pool(&self) -> &ServerPool {
        &self.pool
    }

    pub(super) fn phase(&self) -> ProcessPhase {
        *self.phase.borrow()
    }

    pub(super) fn is_replaced(&self) -> bool {
        self.program.is_replaced()
    }

    /// Whether this process must let another one take over. A process in the foreground belongs to its terminal and
    /// stays.
    pub(super) fn must_retire(&self) -> bool {
        self.kind == ProcessKind::Background
            && (self.is_replaced() || !self.announcement.is_intact())
    }

    /// Ends the process.
    pub(super) fn stop(&self) {
        self.announcement.release();
        self.phase.send_replace(ProcessPhase::Stopping);
    }

    /// Lets another process take over. Each client moves to it when it has no open request.
    pub(super) fn retire(&self) {
        self.announcement.release();
        let begun = self.phase.send_if_modified(|phase| {
            let begins = *phase == ProcessPhase::Serving;
            *phase = if begins {
                ProcessPhase::Retiring
            } else {
                *phase
            };
            begins
        });
        if begun {
            for client in self.clients.all() {
                client.send(&ControlMessage::Move);
            }
        }
    }

    /// Completes when clients are to be disconnected.
    pub(crate) async fn stopped(&self) {
        self.reached(ProcessPhase::Stopping).await;
    }

    pub(super) async fn reached(&self, phase: ProcessPhase) {
        let mut phases = self.phase.subscribe();
        // `self` holds the sender, so the channel cannot close.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    /// Disconnects the clients: those without an open request move to another process, the others get a short time.
    pub(crate) async fn end_clients(&self) {
        self.retire();
        self.clients_left(MOVE_TIMEOUT).await;
        self.stop();
        self.clients_left(STOP_TIMEOUT).await;
    }

    async fn clients_left(&self, timeout: Duration) {
        let mut count = self.clients.watch_count();
        let _ = tokio::time::timeout(timeout, count.wait_for(|count| *count == 0)).await;
    }

    /// Accepts clients until the process retires, then waits for those that it has.
    pub(super) async fn accept(self: &Arc<Self>, listener: UnixListener) {
        let accepting = async {
            loop {
                // A failure, for example too many open files, concerns one client, which serves itself.
                let Ok((stream, _)) = listener.accept().await else {
                    tokio::task::yield_now().await;
                    continue;
                };
                if let Ok(stream) = stream.into_std() {
                    let process = self.clone();
                    tokio::spawn(async move { serve(&process, stream).await });
                }
            }
        };
        tokio::select! {
            () = accepting => {}
            () = self.reached(ProcessPhase::Retiring) => {}
        }
        if self.announcement.is_activated() {
            // The service manager starts no other process while this one runs, so no other one would respond.
            tokio::spawn(turn_away_all(listener));
        } else {
            drop(listener);
        }
        let mut count = self.clients.watch_count();
        let _ = count.wait_for(|count| *count == 0).await;
    }

    /// Closes unused views, and retires when the program was replaced or clients cannot find the process any more.
    pub(super) async fn check(&self) {
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            self.views.close_unused().await;
            if self.must_retire() {
                self.retire();
            }
        }
    }
}
