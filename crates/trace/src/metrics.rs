//! The counters. Counting takes no lock and allocates nothing, so it can be done for every call.

use std::sync::atomic::{AtomicU64, Ordering};

use pegboard_model::{
    CacheUse, CallFacts, DiscoveryFacts, EventKind, LookupFacts, Outcome, Reason, SearchFacts,
    TurnFacts,
};

use crate::histogram::{Histogram, MEMORY_BOUNDS, SERVER_BOUNDS};
use crate::per_server::PerServer;

/// Server label for calls without a server: tools of the host program, and unknown names. Not a valid server name.
const NO_SERVER: &str = "_none";

/// Counters since the process started.
pub struct Metrics {
    pub(crate) calls: PerServer,
    /// One counter per reason, in the order of [`Reason::ALL`].
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
    /// Creates counters with the value 0.
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

    /// Counts a tool call.
    pub fn call(&self, facts: &CallFacts<'_>) {
        let server = facts.server.map_or(NO_SERVER, |server| server.as_str());
        let counters = self.calls.get(server);
        counters.record(facts.took);
        match facts.outcome {
            Outcome::Ok => add(&counters.succeeded, 1),
            outcome => {
                add(&counters.failed, 1);
                self.error(outcome);
            }
        }
    }

    /// Counts a discovery.
    pub fn discovery(&self, facts: &DiscoveryFacts<'_>) {
        // Only a list that the server sent itself measures the server.
        if facts.cache == CacheUse::Miss {
            self.discoveries.record(facts.took);
        }
        if !matches!(facts.outcome, Outcome::Ok) {
            add(&self.discoveries_failed, 1);
            self.error(facts.outcome);
        }
    }

    /// Counts a catalog lookup.
    pub fn lookup(&self, facts: &LookupFacts) {
        add(&self.cache_hits, facts.hits as u64);
        add(&self.cache_misses, facts.misses as u64);
    }

    /// Counts a search.
    pub fn search(&self, facts: &SearchFacts<'_>) {
        self.searches.record(facts.took);
    }

    /// Counts a model response.
    pub fn turn(&self, facts: &TurnFacts<'_>) {
        add(&self.turns, 1);
        add(&self.input_tokens, facts.input_tokens);
        add(&self.output_tokens, facts.output_tokens);
        self.error(facts.outcome);
    }

    /// Counts saved tokens.
    pub fn tokens_saved(&self, tokens: u64) {
        add(&self.tokens_saved, tokens);
    }

    /// Counts server starts and crashes.
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
    fn every_reason_has_a_counter_at_its_index() {
        for (place, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place);
        }
    }
}
