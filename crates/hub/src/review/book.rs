//! The setting and the decisions, held in memory.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pegboard_catalog::{ReviewMark, Reviews};
use pegboard_model::{
    ConfigHash, Fingerprint, ReviewDecision, ReviewKind, ReviewMode, ServerName, ServerRecord,
};
use pegboard_store::Ledger;
use tokio::sync::watch;

use super::reviews_of;
use crate::sync::lock;

/// Most tools of a server that are remembered as called by this process. Later ones are still in the activity log.
const CALLED_MAX: usize = 10_000;

/// One version of a definition.
pub(crate) type VersionKey = (ServerName, ConfigHash, ReviewKind, String, Fingerprint);
/// Whether versions were accepted.
pub(crate) type Decisions = HashMap<VersionKey, bool>;

/// What is held back, and what was decided.
pub(crate) struct ReviewBook {
    ledger: Arc<dyn Ledger>,
    mode: Mutex<ReviewMode>,
    /// `None` until a record has a review, and after a change: most processes never read them.
    decisions: Mutex<Option<Arc<Decisions>>>,
    /// Tools that this process called, because the activity log is written with a delay.
    called: Mutex<HashMap<ServerName, HashSet<String>>>,
    is_watched: AtomicBool,
}

impl ReviewBook {
    pub(crate) fn new(ledger: Arc<dyn Ledger>, mode: ReviewMode) -> Self {
        Self {
            ledger,
            mode: Mutex::new(mode),
            decisions: Mutex::default(),
            called: Mutex::default(),
            is_watched: AtomicBool::new(false),
        }
    }

    pub(crate) fn mode(&self) -> ReviewMode {
        *lock(&self.mode)
    }

    /// Replaces the setting. Returns whether it changed.
    pub(super) fn set_mode(&self, mode: ReviewMode) -> bool {
        std::mem::replace(&mut *lock(&self.mode), mode) != mode
    }

    /// The decisions of all processes. If they cannot be read, nothing counts as decided.
    pub(crate) fn decisions(&self) -> Arc<Decisions> {
        if let Some(decisions) = &*lock(&self.decisions) {
            return decisions.clone();
        }
        let Ok(stored) = self.ledger.review_decisions() else {
            return Arc::default();
        };
        let decisions: Arc<Decisions> = Arc::new(
            stored
                .into_iter()
                .map(|decision| (key(&decision), decision.accepted))
                .collect(),
        );
        *lock(&self.decisions) = Some(decisions.clone());
        decisions
    }

    /// Forgets the decisions that were read, because there are newer ones.
    pub(super) fn forget_decisions(&self) {
        *lock(&self.decisions) = None;
    }

    pub(super) async fn save(&self, decision: ReviewDecision) -> pegboard_model::ToolResult<()> {
        self.ledger.save_review(decision).await?;
        self.forget_decisions();
        Ok(())
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.ledger.changes()
    }

    /// Returns `true` once, for the task that watches the ledger.
    pub(super) fn start_watching(&self) -> bool {
        !self.is_watched.swap(true, Ordering::Relaxed)
    }

    /// Remembers that a tool was called.
    pub(crate) fn record_call(&self, server: &ServerName, tool: &str) {
        let mut called = lock(&self.called);
        // Nearly every call is not the first of its tool.
        if called.get(server).is_some_and(|tools| tools.contains(tool)) {
            return;
        }
        let tools = called.entry(server.clone()).or_default();
        if tools.len() < CALLED_MAX {
            tools.insert(tool.to_owned());
        }
    }

    /// The tools of a server that have a grant or were called.
    pub(crate) fn used_tools(&self, server: &ServerName) -> HashSet<String> {
        let stored = self.ledger.used_tools(server).unwrap_or_default();
        let called = lock(&self.called);
        let called = called.get(server).into_iter().flatten().cloned();
        stored.into_iter().chain(called).collect()
    }

    /// The reviews of a record with their decisions.
    pub(crate) fn marks(&self, record: &ServerRecord) -> Arc<Reviews> {
        let reviews = reviews_of(record);
        if reviews.is_empty() {
            return Arc::default();
        }
        let (decisions, mode) = (self.decisions(), self.mode());
        let marks = reviews.iter().map(|review| {
            let key = (
                record.server.clone(),
                record.config,
                review.kind,
                review.name.clone(),
                review.fingerprint,
            );
            ReviewMark::new(
                review.clone(),
                decisions.get(&key).copied(),
                mode.holds(review),
            )
        });
        Arc::new(marks.collect())
    }
}

fn key(decision: &ReviewDecision) -> VersionKey {
    (
        decision.server.clone(),
        decision.config,
        decision.kind,
        decision.name.clone(),
        decision.fingerprint,
    )
}
