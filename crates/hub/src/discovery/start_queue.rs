//! The queue of discoveries that start a server, first come, first served.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{ServerName, Transport};
use pegboard_upstream::{Connect, processors};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::start_pacer::{OVERDUE_START, StartPacer};
use crate::hub::Hub;
use crate::sync::lock;

/// How often the load is checked while a server waits for its turn.
const PROBE: Duration = Duration::from_millis(10);

/// A server that is being started for its discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartProgress {
    /// The server's name.
    pub server: ServerName,
    /// How long it has been starting.
    pub elapsed: Duration,
    /// The package runner that may have to download it first; `None` if its tools are known.
    pub downloads_with: Option<&'static str>,
}

/// The starts in progress, and the queue of the next ones.
pub(super) struct StartQueue {
    connector: Arc<dyn Connect>,
    state: Mutex<State>,
    /// Held by the head of the queue.
    turn: tokio::sync::Mutex<()>,
    /// Notified when a start ends.
    freed: Notify,
}

struct State {
    pacer: StartPacer,
    starts: Vec<Start>,
    next_id: u64,
    waiting: usize,
}

struct Start {
    id: u64,
    server: ServerName,
    begun: Instant,
    /// Whether it counts against the pacer's width.
    is_paced: bool,
}

/// A start in progress. Dropping it frees its place.
pub(super) struct StartPermit {
    queue: Arc<StartQueue>,
    id: u64,
    /// Whether the start had to wait for its turn.
    pub(super) has_waited: bool,
}

impl StartQueue {
    pub(super) fn new(connector: Arc<dyn Connect>, widest: usize) -> Arc<Self> {
        Arc::new(Self {
            connector,
            state: Mutex::new(State {
                pacer: StartPacer::new(processors(), widest, Instant::now()),
                starts: Vec::new(),
                next_id: 0,
                waiting: 0,
            }),
            turn: tokio::sync::Mutex::new(()),
            freed: Notify::new(),
        })
    }

    /// Waits until the server may start. When `urgent` resolves, because a caller waits for this server specifically,
    /// it starts ahead of its turn.
    pub(super) async fn enter(
        self: &Arc<Self>,
        server: &ServerName,
        urgent: impl Future<Output = ()>,
    ) -> StartPermit {
        let _waiting = Waiting::new(self);
        let waited = tokio::select! {
            biased;
            waited = self.take_turn(server) => waited,
            () = urgent => (self.admit(server, false), true),
        };
        let (id, has_waited) = waited;
        let queue = self.clone();
        StartPermit {
            queue,
            id,
            has_waited,
        }
    }

    /// Returns a permit without waiting, for a discovery that starts no process.
    pub(super) fn enter_unpaced(self: &Arc<Self>, server: &ServerName) -> StartPermit {
        StartPermit {
            id: self.admit(server, false),
            queue: self.clone(),
            has_waited: false,
        }
    }

    async fn take_turn(&self, server: &ServerName) -> (u64, bool) {
        let mut has_waited = self.turn.try_lock().is_err();
        let _turn = self.turn.lock().await;
        loop {
            let freed = self.freed.notified();
            if self.has_room() {
                return (self.admit(server, true), has_waited);
            }
            has_waited = true;
            tokio::select! {
                () = freed => {}
                () = tokio::time::sleep(PROBE) => self.probe(),
            }
        }
    }

    fn has_room(&self) -> bool {
        let state = lock(&self.state);
        state.pacer.admits(state.paced())
    }

    fn admit(&self, server: &ServerName, is_paced: bool) -> u64 {
        let mut state = lock(&self.state);
        let id = state.next_id;
        state.next_id = id.wrapping_add(1);
        state.starts.push(Start {
            id,
            server: server.clone(),
            begun: Instant::now(),
            is_paced,
        });
        id
    }

    /// Checks the load and the overdue starts.
    fn probe(&self) {
        let load = self.connector.load();
        let now = Instant::now();
        let mut state = lock(&self.state);
        let starting = state.paced();
        state.pacer.observe_load(load, starting, now);
        let State { pacer, starts, .. } = &mut *state;
        let overdue = |start: &&mut Start| {
            start.is_paced && now.saturating_duration_since(start.begun) >= OVERDUE_START
        };
        for start in starts.iter_mut().filter(overdue) {
            start.is_paced = false;
            pacer.observe_start(start.begun, load, now);
        }
    }

    /// Returns the starts in progress, longest first, and the number of waiting servers.
    fn progress(&self) -> (Vec<(ServerName, Duration)>, usize) {
        let state = lock(&self.state);
        let starts = state.starts.iter();
        let mut starts: Vec<_> = starts
            .map(|start| (start.server.clone(), start.begun.elapsed()))
            .collect();
        starts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        (starts, state.waiting)
    }

    /// Whether the server is being started, rather than waiting for its turn.
    pub(super) fn is_starting(&self, server: &ServerName) -> bool {
        let state = lock(&self.state);
        state.starts.iter().any(|start| start.server == *server)
    }
}

impl State {
    fn paced(&self) -> usize {
        self.starts.iter().filter(|start| start.is_paced).count()
    }
}

impl StartPermit {
    /// Restarts the clock of this start: the time before was spent waiting for other processes.
    pub(super) fn begin(&self) {
        let mut state = lock(&self.queue.state);
        if let Some(start) = state.starts.iter_mut().find(|start| start.id == self.id) {
            start.begun = Instant::now();
        }
    }

    /// Feeds the duration of this start to the pacer, after the list was received or timed out.
    pub(super) fn measure(&self) {
        let load = self.queue.connector.load();
        let mut state = lock(&self.queue.state);
        let State { pacer, starts, .. } = &mut *state;
        let own = starts.iter().find(|start| start.id == self.id);
        if let Some(start) = own.filter(|start| start.is_paced) {
            pacer.observe_start(start.begun, load, Instant::now());
        }
    }
}

impl Drop for StartPermit {
    fn drop(&mut self) {
        lock(&self.queue.state)
            .starts
            .retain(|start| start.id != self.id);
        self.queue.freed.notify_one();
    }
}

/// Counts a waiting server.
struct Waiting<'a>(&'a StartQueue);

impl<'a> Waiting<'a> {
    fn new(queue: &'a StartQueue) -> Self {
        lock(&queue.state).waiting += 1;
        Self(queue)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.waiting = state.waiting.saturating_sub(1);
    }
}

impl Hub {
    /// Returns the servers that are being started for their discovery, longest first, and the number of waiting ones.
    pub fn starts(&self) -> (Vec<StartProgress>, usize) {
        let (starts, waiting) = self.inner.discovery.starts().progress();
        let catalog = self.catalog();
        let starts = starts.into_iter().map(|(server, elapsed)| {
            let entry = catalog.server(&server);
            let entry = entry.filter(|entry| !entry.record.is_known());
            let runner = |transport: &Transport| transport.package_runner();
            StartProgress {
                downloads_with: entry.and_then(|entry| runner(&entry.spec.transport)),
                server,
                elapsed,
            }
        });
        (starts.collect(), waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::sync::atomic::{AtomicBool, Ordering};

    use async_trait::async_trait;
    use pegboard_model::{Reason, ServerSpec, ToolError, ToolResult};
    use pegboard_testkit::server;
    use pegboard_upstream::{ConnectHint, MachineLoad, Upstream};

    struct Machine {
        is_busy: AtomicBool,
    }

    #[async_trait]
    impl Connect for Machine {
        async fn connect(
            &self,
            _: &ServerSpec,
            _: &ConnectHint,
            _: Duration,
        ) -> ToolResult<Arc<dyn Upstream>> {
            Err(ToolError::new(Reason::Internal, "nothing starts here"))
        }

        fn load(&self) -> MachineLoad {
            match self.is_busy.load(Ordering::Relaxed) {
                true => MachineLoad::High,
                false => MachineLoad::Low,
            }
        }
    }

    fn queue(is_busy: bool) -> (Arc<StartQueue>, Arc<Machine>) {
        let is_busy = AtomicBool::new(is_busy);
        let machine = Arc::new(Machine { is_busy });
        (StartQueue::new(machine.clone(), 64), machine)
    }

    /// Takes as many permits as there are places.
    async fn fill(queue: &Arc<StartQueue>) -> Vec<StartPermit> {
        let mut permits = Vec::new();
        while queue.has_room() {
            permits.push(queue.enter(&server("a"), pending()).await);
        }
        permits
    }

    #[tokio::test(start_paused = true)]
    async fn r_disc_02_on_a_busy_machine_one_starts_when_another_has_answered() {
        let (queue, _machine) = queue(true);
        let mut permits = fill(&queue).await;
        assert_eq!(permits.len(), processors().saturating_mul(2).min(64));
        let name = server("next");
        let next = queue.enter(&name, pending());
        tokio::pin!(next);
        let early = tokio::time::timeout(Duration::from_secs(15), &mut next).await;
        assert!(early.is_err(), "it waits for its turn");
        assert_eq!(queue.progress().1, 1);
        assert!(!queue.is_starting(&server("next")));
        drop(permits.pop());
        let permit = next.await;
        assert!(permit.has_waited && queue.is_starting(&server("next")));
        assert_eq!(queue.progress().1, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn r_disc_02_starts_that_hang_hold_up_the_others_for_a_while_only() {
        for (is_busy, longest) in [(false, Duration::from_secs(1)), (true, OVERDUE_START * 2)] {
            let (queue, _machine) = queue(is_busy);
            let _hanging = fill(&queue).await;
            let begun = Instant::now();
            let _next = queue.enter(&server("next"), pending()).await;
            assert!(begun.elapsed() <= longest, "{:?}", begun.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn r_disc_02_a_server_that_a_caller_waits_for_starts_ahead_of_its_turn() {
        let (queue, _machine) = queue(true);
        let _permits = fill(&queue).await;
        let begun = Instant::now();
        let asked = tokio::time::sleep(Duration::from_millis(30));
        let permit = queue.enter(&server("asked"), asked).await;
        assert_eq!(begun.elapsed(), Duration::from_millis(30));
        drop(permit);
        assert!(!queue.has_room(), "it took no place of the others");
    }

    #[tokio::test(start_paused = true)]
    async fn r_disc_02_the_time_of_a_start_counts_from_its_own_start() {
        let (queue, _machine) = queue(true);
        let permit = queue.enter(&server("a"), pending()).await;
        tokio::time::advance(Duration::from_secs(7)).await;
        permit.begin();
        assert_eq!(queue.progress().0, [(server("a"), Duration::ZERO)]);
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(queue.progress().0, [(server("a"), Duration::from_secs(3))]);
    }
}
