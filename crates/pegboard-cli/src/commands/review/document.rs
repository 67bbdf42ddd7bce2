//! The reviews as JSON.

use pegboard_catalog::{FieldChange, word_changes};
use pegboard_hub::{Hub, PendingReview};
use pegboard_model::Finding;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Document {
    mode: &'static str,
    reviews: Vec<Entry>,
}

#[derive(Serialize)]
pub(super) struct Entry {
    server: String,
    kind: &'static str,
    name: String,
    exposed: String,
    fingerprint: String,
    state: &'static str,
    held: bool,
    rejected: bool,
    findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<FieldChange>,
}

impl Document {
    pub(super) fn new(hub: &Hub, reviews: &[PendingReview]) -> Self {
        Self {
            mode: hub.review_mode().as_str(),
            reviews: reviews.iter().map(Entry::new).collect(),
        }
    }
}

impl Entry {
    pub(super) fn new(review: &PendingReview) -> Self {
        let (subject, mark) = (&review.subject, &review.mark);
        let before = mark.review().before.as_deref();
        Self {
            server: subject.server.to_string(),
            kind: subject.kind.as_str(),
            name: subject.name.clone(),
            exposed: review.exposed.clone(),
            fingerprint: subject.fingerprint.to_string(),
            state: mark.state().as_str(),
            held: mark.is_held(),
            rejected: mark.is_rejected(),
            findings: mark.review().findings.clone(),
            changes: before
                .map(|before| word_changes(before, &review.text))
                .unwrap_or_default(),
        }
    }
}
