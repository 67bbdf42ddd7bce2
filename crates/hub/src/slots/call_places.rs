//! The places for concurrent requests to one server, divided fairly between sessions.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pegboard_model::{Limits, Reason, ServerName, ToolError, ToolResult};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::sync::lock;

/// How many requests may run and wait.
#[derive(Clone, Copy)]
struct PlaceLimits {
    running: usize,
    running_per_session: usize,
    waiting: usize,
    waiting_per_session: usize,
}

/// The places for concurrent requests to one server.
///
/// No session has all places, so that a new session finds one at once. Freed places go to the waiting session with the
/// fewest running requests. A server that sends requests to clients without naming one takes turns: only requests of
/// one session run at a time, in the order of their arrival.
pub(crate) struct CallPlaces {
    server: ServerName,
    limits: PlaceLimits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<Box<str>, SessionPlaces>,
    running: usize,
    /// Numbers the waiting requests in the order of their arrival.
    arrivals: u64,
    takes_turns: bool,
}

#[derive(Default)]
struct SessionPlaces {
    running: usize,
    waiting: VecDeque<(u64, oneshot::Sender<CallPlace>)>,
}

/// A place for one request. Dropping it frees the place.
pub(crate) struct CallPlace {
    places: Arc<CallPlaces>,
    session: Box<str>,
    is_freed: bool,
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        if !self.is_freed {
            self.places.free(&self.session);
        }
    }
}

impl CallPlaces {
    pub(crate) fn new(server: ServerName, limits: &Limits) -> Arc<Self> {
        let limits = PlaceLimits {
            running: limits.calls_per_server,
            running_per_session: limits.calls_per_session,
            waiting: limits.queued_calls_per_server,
            waiting_per_session: limits.queued_calls_per_session,
        };
        Arc::new(Self {
            server,
            limits,
            state: Mutex::default(),
        })
    }

    /// Lets only one session at a time run requests from now on.
    pub(crate) fn take_turns(&self) {
        lock(&self.state).takes_turns = true;
    }

    /// The number of running requests.
    pub(crate) fn running(&self) -> usize {
        lock(&self.state).running
    }

    /// Waits for a place. Refuses if too many requests wait already, or after `longest`.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        session: &str,
        longest: Duration,
    ) -> ToolResult<CallPlace> {
        let waiting = {
            let mut state = lock(&self.state);
            if state.may_run(session, &self.limits) && !state.is_behind_others() {
                state.start(session);
                return Ok(self.place(session));
            }
            state.forget_cancelled();
            let own = state
                .sessions
                .get(session)
                .map_or(0, |own| own.waiting.len());
            if own >= self.limits.waiting_per_session || state.waiting() >= self.limits.waiting {
                return Err(self.overloaded("has too many calls waiting"));
            }
            let (granted, waiting) = oneshot::channel();
            state.arrivals += 1;
            let arrival = state.arrivals;
            let own = state.sessions.entry(session.into()).or_default();
            own.waiting.push_back((arrival, granted));
            waiting
        };
        match timeout(longest, waiting).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(self.overloaded("was busy with other calls for too long")),
        }
    }

    fn place(self: &Arc<Self>, session: &str) -> CallPlace {
        CallPlace {
            places: self.clone(),
            session: session.into(),
            is_freed: false,
        }
    }

    /// Frees a place and gives it to the next waiting requests.
    fn free(self: &Arc<Self>, session: &str) {
        lock(&self.state).end(session);
        loop {
            let next = lock(&self.state).start_next(&self.limits);
            let Some((session, granted)) = next else {
                return;
            };
            if let Err(mut unwanted) = granted.send(self.place(&session)) {
                // The request was cancelled. Its place is freed here, because dropping it would repeat this function
                // once for each cancelled request.
                lock(&self.state).end(&session);
                unwanted.is_freed = true;
            }
        }
    }

    fn overloaded(&self, what: &str) -> ToolError {
        let message = format!("server `{}` {what}", self.server);
        ToolError::new(Reason::Overloaded, message).at_server(&self.server)
    }
}

impl State {
    fn may_run(&self, session: &str, limits: &PlaceLimits) -> bool {
        let own = self.sessions.get(session).map_or(0, |own| own.running);
        let is_turn = !self.takes_turns || own == self.running;
        self.running < limits.running && own < limits.running_per_session && is_turn
    }

    /// Whether a new request must wait although its session may run one: with turns, earlier ones come first.
    fn is_behind_others(&self) -> bool {
        let is_open = |(_, granted): &(u64, oneshot::Sender<CallPlace>)| !granted.is_closed();
        let mut sessions = self.sessions.values();
        self.takes_turns && sessions.any(|own| own.waiting.iter().any(is_open))
    }

    fn start(&mut self, session: &str) {
        self.running += 1;
        match self.sessions.get_mut(session) {
            Some(own) => own.running += 1,
            None => {
                let own = SessionPlaces {
                    running: 1,
                    ..SessionPlaces::default()
                };
                self.sessions.insert(session.into(), own);
            }
        }
    }

    fn end(&mut self, session: &str) {
        self.running = self.running.saturating_sub(1);
        if let Some(own) = self.sessions.get_mut(session) {
            own.running = own.running.saturating_sub(1);
            if own.running == 0 && own.waiting.is_empty() {
                self.sessions.remove(session);
            }
        }
    }

    /// Starts the next waiting request that may run.
    fn start_next(
        &mut self,
        limits: &PlaceLimits,
    ) -> Option<(Box<str>, oneshot::Sender<CallPlace>)> {
        self.forget_cancelled();
        let first = |own: &SessionPlaces| own.waiting.front().map(|(arrival, _)| *arrival);
        let waiting = self.sessions.iter();
        let waiting = waiting.filter_map(|(session, own)| Some((session, own, first(own)?)));
        let next = match self.takes_turns {
            // In order, so that no session starves.
            true => waiting
                .min_by_key(|(_, _, arrival)| *arrival)
                .filter(|(session, ..)| self.may_run(session, limits)),
            false => waiting
                .filter(|(session, ..)| self.may_run(session, limits))
                .min_by_key(|(_, own, arrival)| (own.running, *arrival)),
        };
        let session = next?.0.clone();
        let (_, granted) = self.sessions.get_mut(&session)?.waiting.pop_front()?;
        self.start(&session);
        Some((session, granted))
    }

    fn waiting(&self) -> usize {
        self.sessions.values().map(|own| own.waiting.len()).sum()
    }

    fn forget_cancelled(&mut self) {
        self.sessions.retain(|_, own| {
            own.waiting.retain(|(_, granted)| !granted.is_closed());
            own.running > 0 || !own.waiting.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::time::Instant;

    fn places(running: usize, per_session: usize) -> Arc<CallPlaces> {
        let limits = Limits {
            calls_per_server: running,
            calls_per_session: per_session,
            queued_calls_per_server: 4,
            queued_calls_per_session: 3,
            ..Limits::default()
        };
        CallPlaces::new(pegboard_testkit::server("busy"), &limits)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_for_its_turn_no_longer_than_a_call_may_take() {
        let places = places(1, 1);
        let longest = Duration::from_secs(5);
        let first = places.acquire("a", longest).await.unwrap();
        let begun = Instant::now();
        let refused = places.acquire("a", longest).await.err().unwrap();
        assert_eq!(refused.reason, Reason::Overloaded);
        assert_eq!(begun.elapsed().as_secs(), 5);
        drop(first);
        assert!(places.acquire("a", longest).now_or_never().unwrap().is_ok());
        assert!(lock(&places.state).sessions.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn r_gate_04_one_session_cannot_take_all_places_nor_the_whole_queue() {
        let places = places(4, 3);
        let acquire = |session: &'static str| {
            let places = places.clone();
            tokio::spawn(async move { places.acquire(session, LONG).await })
        };
        let mut greedy = Vec::new();
        for _ in 0..3 {
            greedy.push(places.acquire("greedy", LONG).await.unwrap());
        }
        let queued: Vec<_> = (0..3).map(|_| acquire("greedy")).collect();
        tokio::task::yield_now().await;
        let refused = places.acquire("greedy", LONG).await.err().unwrap();
        assert_eq!(refused.reason, Reason::Overloaded);
        // Another session still finds a place at once, and then a place to wait.
        let other = places.acquire("other", LONG).now_or_never().unwrap();
        let other = other.unwrap();
        let second = acquire("other");
        tokio::task::yield_now().await;
        // A freed place goes to the session with fewer running calls, although the others wait longer.
        drop(greedy.pop());
        let second = second.await.unwrap().unwrap();
        assert!(queued.iter().all(|waiting| !waiting.is_finished()));
        drop((other, second, greedy));
        for waiting in queued {
            waiting.await.unwrap().unwrap();
        }
        assert_eq!(places.running(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn r_gate_04_sessions_take_turns_in_the_order_of_their_calls() {
        let places = places(4, 4);
        let acquire = |session: &'static str| {
            let places = places.clone();
            tokio::spawn(async move { places.acquire(session, LONG).await.unwrap() })
        };
        let a1 = places.acquire("a", LONG).await.unwrap();
        places.take_turns();
        let a2 = places.acquire("a", LONG).now_or_never().unwrap().unwrap();
        let (b1, b2) = (acquire("b"), acquire("b"));
        tokio::task::yield_now().await;
        // A later call of the running session does not overtake.
        let a3 = acquire("a");
        tokio::task::yield_now().await;
        drop(a1);
        tokio::task::yield_now().await;
        assert!(!b1.is_finished() && !a3.is_finished());
        drop(a2);
        let (b1, b2) = (b1.await.unwrap(), b2.await.unwrap());
        assert!(!a3.is_finished());
        drop((b1, b2));
        drop(a3.await.unwrap());
        assert!(lock(&places.state).sessions.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_request_frees_its_place_in_the_queue() {
        let places = places(1, 1);
        let first = places.acquire("a", LONG).await.unwrap();
        for _ in 0..100 {
            let waiting = places.acquire("b", LONG);
            assert!(waiting.now_or_never().is_none());
        }
        let b = places.clone();
        let b = tokio::spawn(async move { b.acquire("b", LONG).await });
        tokio::task::yield_now().await;
        drop(first);
        drop(b.await.unwrap().unwrap());
        assert_eq!(places.running(), 0);
    }
}
