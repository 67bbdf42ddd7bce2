//! What is counted. Counting takes no lock and no memory, so it may stand on the way of every call.

use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_model::{
    CacheUse, CallFacts, DiscoveryFacts, EventKind, LookupFacts, Outcome, Reason, SearchFacts,
    TurnFacts,
};

use crate::histogram::{Histogram, MEMORY_BOUNDS, SERVER_BOUNDS};
use crate::per_server::PerServer;

/// What calls without a server are counted under: tools of the host program, and names that nobody has. No
/// server can have this name.
const NO_SERVER: &str = "_none";

/// Counters since the start.
pub struct Metrics {
    pub(crate) calls: PerServer,
    /// One for each reason, in the order of [`Reason::ALL`].
    pub(crate) errors: Box<[AtomicU64]>,
    pub(crate) discoveries: Histogram,
    pub(crate) discoveries_failed: AtomicU64,
    pub(crate) searches: Histogram,
    pub(crate) cache_hits: AtomicU64,
    pub(crate) cache_misses: AtomicU64,
    pub(crate) tokens_saved: AtomicU64,
    pub(crate) starts: AtomicU64,
    pub(crate) crashes: AtomicU64,
    pub(crate) turns: AtomicU64,
    pub(crate) input_tokens: AtomicU64,
    pub(crate) output_tokens: AtomicU64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            calls: PerServer::new(),
            errors: Reason::ALL.iter().map(|_| zero()).collect(),
            discoveries: Histogram::new(SERVER_BOUNDS),
            discoveries_failed: zero(),
            searches: Histogram::new(MEMORY_BOUNDS),
            cache_hits: zero(),
            cache_misses: zero(),
            tokens_saved: zero(),
            starts: zero(),
            crashes: zero(),
            turns: zero(),
            input_tokens: zero(),
            output_tokens: zero(),
        }
    }

    /// A tool was called.
    pub fn call(&self, facts: &CallFacts<'_>) {
        let server = facts.server.map_or(NO_SERVER, |server| server.as_str());
        let counters = self.calls.of(server);
        counters.took(facts.took);
        match facts.outcome {
            Outcome::Ok => add(&counters.succeeded, 1),
            outcome => {
                add(&counters.failed, 1);
                self.error(outcome);
            }
        }
    }

    /// A server was asked for its tools.
    pub fn discovery(&self, facts: &DiscoveryFacts<'_>) {
        // What came from elsewhere says nothing about how long a server takes.
        if facts.cache == CacheUse::Miss {
            self.discoveries.record(facts.took);
        }
        if !matches!(facts.outcome, Outcome::Ok) {
            add(&self.discoveries_failed, 1);
            self.error(facts.outcome);
        }
    }

    /// The catalog was read.
    pub fn lookup(&self, facts: &LookupFacts) {
        add(&self.cache_hits, facts.hits as u64);
        add(&self.cache_misses, facts.misses as u64);
    }

    /// Tools were searched.
    pub fn search(&self, facts: &SearchFacts<'_>) {
        self.searches.record(facts.took);
    }

    /// A model answered.
    pub fn turn(&self, facts: &TurnFacts<'_>) {
        add(&self.turns, 1);
        add(&self.input_tokens, facts.input_tokens);
        add(&self.output_tokens, facts.output_tokens);
        self.error(facts.outcome);
    }

    /// A model did not have to read so many tokens.
    pub fn tokens_saved(&self, tokens: u64) {
        add(&self.tokens_saved, tokens);
    }

    /// Something happened.
    pub fn event(&self, kind: &EventKind) {
        match kind {
            EventKind::ServerStarted { .. } => add(&self.starts, 1),
            EventKind::ServerStopped { why, .. } if why == "crashed" => add(&self.crashes, 1),
            _ => {}
        }
    }

    fn error(&self, outcome: Outcome<'_>) {
        let reason = match outcome {
            Outcome::Ok => return,
            Outcome::ToolFailed => Reason::ToolFailed,
            Outcome::Failed(error) => error.reason,
        };
        if let Some(counter) = self.errors.get(reason as usize) {
            add(counter, 1);
        }
    }
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_the_counter_of_its_place() {
        for (place, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place);
        }
    }
}
