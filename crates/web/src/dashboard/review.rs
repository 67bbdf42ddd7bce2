//! *Review*: definitions that models do not get until a person has looked at them.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::{Change, FieldChange, word_changes};
use pegboard_guard::rule;
use pegboard_hub::PendingReview;
use pegboard_model::{Finding, ReviewKind, Severity, UntrustedText};
use serde_json::json;

use super::Pages;
use super::components::{empty, whole_code};
use super::display::{line, pretty, thousands};
use super::page::{Page, Section, heading};
use super::request::{PageRequest, escaped};

/// Largest number of reviews shown.
const ROWS: usize = 50;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let mut reviews = pages.hub().reviews();
    // What still awaits a decision first, the most serious of it at the top.
    reviews.sort_by_key(|review| {
        let is_open = review.mark.is_held() && !review.mark.is_rejected();
        (!is_open, std::cmp::Reverse(review.mark.review().severity()))
    });
    let head = heading(
        "Review",
        "Tools and texts that are flagged, changed or new. Models do not get them until you accept them.",
    );
    let body = html! {
        div.stack id="reviews" data-live="catalog" {
            @if reviews.is_empty() {
                div.card {
                    (empty("Nothing to review", "Flagged and changed tools appear here, with what was found and what changed.", &html! {
                        a.button href="/tools" { "All tools" }
                    }))
                }
            }
            @for review in reviews.iter().take(ROWS) { (card(review)) }
            @if reviews.len() > ROWS { p.small.faint { "and " (thousands((reviews.len() - ROWS) as u64)) " more" } }
        }
    };
    Page::new(Section::Review, "Review", head, body)
        .render(&pages, &request)
        .await
}

fn card(review: &PendingReview) -> Markup {
    let (subject, mark) = (&review.subject, &review.mark);
    let title = format!("review-{}", subject.fingerprint);
    html! {
        article.card data-row=(subject.fingerprint) aria-labelledby=(title) {
            header {
                h2.mono.wrap id=(title) {
                    @if subject.kind == ReviewKind::Tool {
                        a.name-link href=(format!("/tools/{}", escaped(&review.exposed))) { (line(&review.exposed)) }
                    } @else { (line(&review.exposed)) }
                }
                p { span.chip.warn { @if mark.is_rejected() { "rejected" } @else { (mark.state().as_str()) } } }
            }
            div.body.stack {
                @for finding in &mark.review().findings { (finding_callout(finding)) }
                @if let Some(before) = &mark.review().before {
                    div.stack-tight {
                        h3 { "Changed since it was accepted" }
                        @for change in word_changes(before, &review.text) { (change_line(&change)) }
                    }
                }
                details { summary { "The whole definition" } (whole_code(&pretty(&review.text))) }
                div.row role="group" aria-label="Decide" data-choices {
                    @if mark.is_held() { (button(review, "accept", "Accept this version", "")) }
                    @if !mark.is_rejected() { (button(review, "reject", "Reject", "warns")) }
                }
            }
        }
    }
}

fn finding_callout(finding: &Finding) -> Markup {
    let class = match finding.severity {
        Severity::Block => "callout bad",
        Severity::Flag | Severity::Note => "callout warn",
    };
    html! {
        div class=(class) {
            strong { (finding.rule) }
            @if let Some(rule) = rule(&finding.rule) { span { (rule.what) } }
            span.mono.wrap { (line(&finding.place)) ": " (UntrustedText::new(&finding.excerpt)) }
        }
    }
}

fn change_line(change: &FieldChange) -> Markup {
    html! {
        div.small {
            code { (line(&change.field)) }
            p.pre-line.wrap {
                @for part in &change.parts {
                    @match part.change {
                        Change::Same => (UntrustedText::block(&part.text)),
                        Change::Removed => del { (UntrustedText::block(&part.text)) },
                        Change::Added => ins { (UntrustedText::block(&part.text)) },
                    }
                }
            }
        }
    }
}

fn button(review: &PendingReview, decision: &str, label: &str, class: &str) -> Markup {
    let subject = &review.subject;
    let body = json!({
        "server": subject.server.as_str(),
        "kind": subject.kind.as_str(),
        "name": subject.name,
        "fingerprint": subject.fingerprint.to_string(),
        "decision": decision,
    });
    let done = match decision {
        "accept" => "Models can use this version",
        _ => "Models do not get this version",
    };
    html! {
        button class=(class) type="button" data-call="POST /api/v1/reviews" data-body=(body.to_string()) data-done=(done) data-admin { (label) }
    }
}
