//! Listing and deciding reviews, and applying the decisions of other processes.

use std::sync::Arc;

use pegboard_catalog::{Catalog, ReviewMark, ServerEntry, exposed_prompt, exposed_uri};
use pegboard_model::{
    Activity, ActivityKind, EventKind, ExposedName, Fingerprint, Reason, ReviewDecision,
    ReviewKind, ReviewMode, ServerName, ToolError, ToolResult, TraceId, UntrustedText,
};

use crate::hub::{Hub, Inner};
use crate::telemetry::new_trace;

/// What a decision is about: exactly one version, as it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewSubject {
    /// The server.
    pub server: ServerName,
    /// What is reviewed.
    pub kind: ReviewKind,
    /// The server's name for it; empty for instructions.
    pub name: String,
    /// The version.
    pub fingerprint: Fingerprint,
}

/// A definition with a review.
#[derive(Clone, Debug)]
pub struct PendingReview {
    /// The version.
    pub subject: ReviewSubject,
    /// The name under which models would get it, or what it is.
    pub exposed: String,
    /// The review and what was decided.
    pub mark: ReviewMark,
    /// The definition or text as the server sent it.
    pub text: Arc<str>,
}

impl Hub {
    /// Returns the definitions with a review, sorted by server, kind and name: those that await one, and those that
    /// a person decided about.
    pub fn reviews(&self) -> Vec<PendingReview> {
        reviews_in(&self.catalog())
    }

    /// Decides about one version, for all processes that share the store. Only for a person's own channel: `by` names
    /// it, for the activity log.
    ///
    /// # Errors
    /// Fails if this version has no review, because it was replaced in the meantime or never had one, or if the ledger
    /// cannot be written.
    pub async fn decide_review(
        &self,
        subject: &ReviewSubject,
        accept: bool,
        by: &str,
    ) -> ToolResult<()> {
        let catalog = self.catalog();
        let entry = catalog.server(&subject.server);
        let mark = entry.and_then(|entry| entry.reviews().get(subject.kind, &subject.name));
        let mark = mark.filter(|mark| mark.review().fingerprint == subject.fingerprint);
        let (Some(entry), Some(_)) = (entry, mark) else {
            let shown = UntrustedText::new(&subject.name).shortened(80);
            let message = format!(
                "this version of {} `{shown}` of server `{}` has no review; it may have changed again",
                subject.kind.as_str(),
                subject.server,
            );
            return Err(ToolError::new(Reason::ReviewUnknown, message).at_server(&subject.server));
        };
        let exposed = exposed(entry, subject.kind, &subject.name);
        let inner = &self.inner;
        let decision = ReviewDecision {
            server: subject.server.clone(),
            config: entry.spec.hash,
            kind: subject.kind,
            name: subject.name.clone(),
            fingerprint: subject.fingerprint,
            accepted: accept,
            at: inner.clock.now(),
            by: by.to_owned(),
        };
        inner.catalog.reviews().save(decision).await?;
        let (trace, word) = (new_trace(), if accept { "accept" } else { "reject" });
        inner.telemetry.emit(
            &trace,
            EventKind::ReviewDecided {
                server: subject.server.clone(),
                subject: exposed.clone(),
                decision: word.to_owned(),
                by: by.to_owned(),
            },
        );
        self.record_activity(Activity {
            client: Some(by.to_owned()),
            tool: Some(exposed),
            server: Some(subject.server.clone()),
            trace: Some(trace),
            ..Activity::new(inner.clock.now(), ActivityKind::Review, word)
        });
        let inner = inner.clone();
        let _ = tokio::task::spawn_blocking(move || inner.apply_reviews()).await;
        Ok(())
    }

    /// Replaces the setting of what is held back.
    pub fn set_review_mode(&self, mode: ReviewMode) {
        if self.inner.catalog.reviews().set_mode(mode) {
            self.inner.apply_reviews();
        }
    }

    /// Returns what is held back.
    pub fn review_mode(&self) -> ReviewMode {
        self.inner.catalog.reviews().mode()
    }
}

impl Inner {
    /// Marks every entry with a review again. Blocks: it may read the ledger.
    pub(super) fn apply_reviews(&self) {
        let mut has_changed = false;
        for entry in self.catalog.load_full().servers() {
            if entry.reviews().is_empty() && entry.record.reviews.is_empty() {
                continue;
            }
            let marks = self.catalog.reviews().marks(&entry.record);
            let is_changed = self.catalog.mark(&entry.spec, |present| {
                let is_same = Arc::ptr_eq(&present.record, &entry.record);
                (is_same && **present.reviews() != *marks)
                    .then(|| present.clone().with_reviews(marks.clone()))
            });
            if is_changed {
                has_changed = true;
                let present = self.catalog.load_full();
                self.announce_list_changes(&entry.spec.name, Some(entry), None);
                self.announce_list_changes(
                    &entry.spec.name,
                    None,
                    present.server(&entry.spec.name).map(|entry| &**entry),
                );
            }
        }
        if has_changed {
            self.emit_registry_updated(&new_trace());
        }
    }

    /// Reports that definitions of a server await a review.
    pub(crate) fn emit_review_needed(&self, server: &ServerName, trace: &TraceId) {
        let catalog = self.catalog.load();
        let held = catalog.server(server).map_or(0, |entry| {
            let is_open = |mark: &&&ReviewMark| mark.is_held() && !mark.is_rejected();
            entry.reviews().all().iter().filter(is_open).count()
        });
        if held > 0 {
            let server = server.clone();
            self.telemetry
                .emit(trace, EventKind::ReviewNeeded { server, held });
        }
    }

    /// Applies the decisions of other processes as long as this one runs, if anything is held back.
    pub(crate) fn watch_reviews(self: &Arc<Self>) {
        let is_needed = |entry: &Arc<ServerEntry>| !entry.reviews().is_empty();
        if !self.catalog.load().servers().any(is_needed)
            || tokio::runtime::Handle::try_current().is_err()
            || !self.catalog.reviews().start_watching()
        {
            return;
        }
        let mut changes = self.catalog.reviews().changes();
        let inner = Arc::downgrade(self);
        self.tasks.spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(inner) = inner.upgrade() else { return };
                let applied = tokio::task::spawn_blocking(move || {
                    inner.catalog.reviews().forget_decisions();
                    inner.apply_reviews();
                });
                let _ = applied.await;
            }
        });
    }
}

fn reviews_in(catalog: &Catalog) -> Vec<PendingReview> {
    let mut found = Vec::new();
    for entry in catalog.servers() {
        for mark in entry.reviews().all() {
            let review = mark.review();
            let Some(text) = text_of(entry, review.kind, &review.name) else {
                continue;
            };
            found.push(PendingReview {
                subject: ReviewSubject {
                    server: entry.spec.name.clone(),
                    kind: review.kind,
                    name: review.name.clone(),
                    fingerprint: review.fingerprint,
                },
                exposed: exposed(entry, review.kind, &review.name),
                mark: mark.clone(),
                text,
            });
        }
    }
    found
}

fn exposed(entry: &ServerEntry, kind: ReviewKind, name: &str) -> String {
    let server = &entry.spec.name;
    match kind {
        ReviewKind::Tool => ExposedName::of(server, name).to_string(),
        ReviewKind::Prompt => exposed_prompt(server, name),
        ReviewKind::Resource | ReviewKind::Template => exposed_uri(server, name),
        ReviewKind::Instructions => format!("instructions of {server}"),
    }
}

fn text_of(entry: &ServerEntry, kind: ReviewKind, name: &str) -> Option<Arc<str>> {
    let (record, offers) = (&entry.record, &entry.record.offers);
    let offer = |list: &[pegboard_model::Offer]| {
        let found = list.iter().find(|offer| offer.key == name);
        found.map(|offer| offer.definition.clone())
    };
    match kind {
        ReviewKind::Tool => {
            let tool = record.tools.iter().find(|tool| tool.name == name);
            tool.map(|tool| tool.definition.clone())
        }
        ReviewKind::Prompt => offer(&offers.prompts),
        ReviewKind::Resource => offer(&offers.resources),
        ReviewKind::Template => offer(&offers.templates),
        ReviewKind::Instructions => record.instructions.as_deref().map(Arc::from),
    }
}
