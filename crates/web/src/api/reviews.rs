//! Reviews: definitions that models do not get until a person has looked at them.

use axum::extract::State;
use pegboard_catalog::{Change, FieldChange, word_changes};
use pegboard_hub::{PendingReview, ReviewSubject};
use pegboard_model::{Finding, Fingerprint, ReviewKind, ServerName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::Json;
use crate::response::NoStore;
use crate::role::{Admin, Authorized};
use crate::state::WebState;

/// All reviews.
#[derive(Serialize, ToSchema)]
pub(super) struct Reviews {
    /// What is held back: `off`, `default` or `strict`.
    mode: String,
    /// The reviews, sorted by server, kind and name.
    reviews: Vec<ReviewEntry>,
}

/// A definition with a review.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReviewEntry {
    /// The server.
    server: String,
    /// `tool`, `prompt`, `resource`, `template` or `instructions`.
    kind: String,
    /// The server's name for it; empty for instructions.
    name: String,
    /// The name under which models would get it.
    exposed: String,
    /// The version. A decision is about exactly this one.
    fingerprint: String,
    /// `new`, `approved`, `changed` or `flagged`.
    state: String,
    /// Whether models do not get it.
    held: bool,
    /// Whether a person rejected it.
    rejected: bool,
    /// What the scanner found.
    findings: Vec<ReviewFinding>,
    /// How it differs from the version that was accepted last, word by word.
    changes: Vec<ReviewChange>,
    /// The definition or text; untrusted text.
    definition: String,
}

/// A rule that a definition matches.
#[derive(Serialize, ToSchema)]
pub(super) struct ReviewFinding {
    /// The id of the rule.
    rule: String,
    /// `note`, `flag` or `block`.
    severity: String,
    /// Where it was found.
    place: String,
    /// The text that matched, escaped and shortened.
    excerpt: String,
}

/// A field that differs.
#[derive(Serialize, ToSchema)]
pub(super) struct ReviewChange {
    /// The path of the field.
    field: String,
    /// The pieces of both versions in order.
    parts: Vec<ReviewPart>,
}

/// A piece of text.
#[derive(Serialize, ToSchema)]
pub(super) struct ReviewPart {
    /// `same`, `removed` or `added`.
    change: String,
    /// The text, with hidden characters escaped.
    text: String,
}

impl From<&Finding> for ReviewFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.clone(),
            severity: finding.severity.as_str().to_owned(),
            place: finding.place.clone(),
            excerpt: finding.excerpt.clone(),
        }
    }
}

impl From<FieldChange> for ReviewChange {
    fn from(change: FieldChange) -> Self {
        let word = |change: Change| match change {
            Change::Same => "same",
            Change::Removed => "removed",
            Change::Added => "added",
        };
        let parts = change.parts.into_iter().map(|part| ReviewPart {
            change: word(part.change).to_owned(),
            text: part.text,
        });
        Self {
            field: change.field,
            parts: parts.collect(),
        }
    }
}

impl From<&PendingReview> for ReviewEntry {
    fn from(review: &PendingReview) -> Self {
        let (subject, mark) = (&review.subject, &review.mark);
        let before = mark.review().before.as_deref();
        let changes = before.map(|before| word_changes(before, &review.text));
        Self {
            server: subject.server.to_string(),
            kind: subject.kind.as_str().to_owned(),
            name: subject.name.clone(),
            exposed: review.exposed.clone(),
            fingerprint: subject.fingerprint.to_string(),
            state: mark.state().as_str().to_owned(),
            held: mark.is_held(),
            rejected: mark.is_rejected(),
            findings: mark
                .review()
                .findings
                .iter()
                .map(ReviewFinding::from)
                .collect(),
            changes: changes
                .unwrap_or_default()
                .into_iter()
                .map(ReviewChange::from)
                .collect(),
            definition: review.text.to_string(),
        }
    }
}

/// Lists the reviews: what is held back, and what was decided.
#[utoipa::path(
    get,
    operation_id = "listReviews",
    path = "/reviews",
    tag = "policies",
    responses(
        (status = 200, description = "All reviews", body = Reviews),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
    )
)]
pub(super) async fn list(
    _: Authorized,
    State(state): State<WebState>,
) -> ApiResult<NoStore<Reviews>> {
    let hub = state.hub();
    let reviews = hub.reviews().iter().map(ReviewEntry::from).collect();
    let mode = hub.review_mode().as_str().to_owned();
    Ok(NoStore(Reviews { mode, reviews }))
}

/// A decision about one version.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewDecisionRequest {
    /// The server.
    server: String,
    /// `tool`, `prompt`, `resource`, `template` or `instructions`.
    kind: String,
    /// The server's name for it; empty for instructions.
    #[serde(default)]
    name: String,
    /// The version that was shown.
    fingerprint: String,
    /// `accept` or `reject`.
    #[schema(example = "accept")]
    decision: String,
}

/// Accepts or rejects one version. It fails if the definition changed since it was shown.
#[utoipa::path(
    post,
    operation_id = "decideReview",
    path = "/reviews",
    tag = "policies",
    security(("admin" = [])),
    request_body = ReviewDecisionRequest,
    responses(
        (status = 200, description = "All reviews after the decision", body = Reviews),
        (status = 400, description = "The request is invalid", body = ErrorBody),
        (status = 401, description = "The token is missing or invalid", body = ErrorBody),
        (status = 403, description = "The admin token is required", body = ErrorBody),
        (status = 404, description = "This version has no review", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time", body = ErrorBody),
        (status = 413, description = "The body is too large", body = ErrorBody),
        (status = 415, description = "The body is not declared as JSON", body = ErrorBody),
        (status = 503, description = "The store could not be written", body = ErrorBody),
    )
)]
pub(super) async fn decide(
    admin: Admin,
    State(state): State<WebState>,
    Json(request): Json<ReviewDecisionRequest>,
) -> ApiResult<NoStore<Reviews>> {
    let accept = match request.decision.as_str() {
        "accept" => true,
        "reject" => false,
        _ => {
            return Err(ApiError::at_field(
                "decision",
                "`decision` must be `accept` or `reject`",
            ));
        }
    };
    let Some(kind) = ReviewKind::parse(&request.kind) else {
        let message = "`kind` must be `tool`, `prompt`, `resource`, `template` or `instructions`";
        return Err(ApiError::at_field("kind", message));
    };
    let Ok(server) = ServerName::parse(&request.server) else {
        return Err(ApiError::at_field(
            "server",
            "`server` is not a valid server name",
        ));
    };
    let Ok(fingerprint) = request.fingerprint.parse::<Fingerprint>() else {
        return Err(ApiError::at_field(
            "fingerprint",
            "`fingerprint` must have 64 hex digits",
        ));
    };
    let subject = ReviewSubject {
        server,
        kind,
        name: request.name,
        fingerprint,
    };
    let hub = state.hub();
    hub.decide_review(&subject, accept, admin.actor()).await?;
    let reviews = hub.reviews().iter().map(ReviewEntry::from).collect();
    let mode = hub.review_mode().as_str().to_owned();
    Ok(NoStore(Reviews { mode, reviews }))
}
