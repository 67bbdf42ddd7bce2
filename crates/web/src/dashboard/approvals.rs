//! *Approvals*: approval requests with their exact arguments, and grants.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::Catalog;
use pegboard_hub::readable_arguments;
use pegboard_model::{ApprovalRequest, Grant, Timestamp, ToolResult, UntrustedText};

use super::Pages;
use super::components::{code, empty, inline_code, whole_code};
use super::display::{Ago, duration, line, pretty, thousands};
use super::page::{Page, Section, heading};
use super::request::{PageRequest, escaped};
use crate::api::grants::is_outdated;

/// Largest number of requests and of grants shown.
const ROWS: usize = 50;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let waiting = pages.hub().approvals().await;
    let grants = pages.hub().grants().await;
    let now = pages.now();
    let head = heading(
        "Approvals",
        "Calls that need your approval. Without a decision in time they are refused.",
    );
    let body = html! {
        div.stack {
            @if request.viewer.is_admin() {
                div.stack id="waiting" data-live="approvals" data-approvals data-settles { (inbox(&waiting, now)) }
            } @else {
                div.callout.warn { strong { "Waiting calls are shown to administrators only" } span { "Log in with a link of " code { "pegboard up" } "." } }
            }
            div id="grants" data-live="approvals catalog" data-settles { (grant_list(&grants, &pages.hub().catalog(), now)) }
        }
    };
    Page::new(Section::Approvals, "Approvals", head, body)
        .render(&pages, &request)
        .await
}

fn inbox(waiting: &ToolResult<Vec<ApprovalRequest>>, now: Timestamp) -> Markup {
    html! {
        @match waiting {
            Err(error) => div.callout.bad { strong { "The inbox could not be read" } span { (line(&error.message)) } span.muted { (inline_code(&error.remedy)) } },
            Ok(waiting) if waiting.is_empty() => div.card {
                (empty("No waiting calls", "When a tool's policy is `ask`, its calls wait here with their exact arguments.", &html! {
                    a.button href="/tools" { "Set the policy of a tool" }
                }))
            },
            Ok(waiting) => {
                @for request in waiting.iter().take(ROWS) { (card(request, now)) }
                @if waiting.len() > ROWS { p.small.faint { "and " (thousands((waiting.len() - ROWS) as u64)) " more" } }
            },
        }
    }
}

fn card(request: &ApprovalRequest, now: Timestamp) -> Markup {
    let id = &request.id;
    html! {
        article.card data-row=(id) aria-labelledby=(format!("ask-{id}")) {
            header {
                h2.mono.wrap id=(format!("ask-{id}")) { a.name-link href=(format!("/tools/{}", escaped(&request.tool))) { (line(&request.tool)) } }
                p { span data-until=(request.expires_at.0) { (duration(request.expires_at.since(now))) " left" } }
            }
            div.body.stack {
                @if !request.changed.is_empty() {
                    div.callout.warn { strong { "This tool changed since it was allowed" } span { "Changed: " (line(&request.changed.join(", "))) } }
                }
                div.stack-tight {
                    h3 { "Exact arguments" }
                    (whole_code(&pretty(&readable_arguments(&request.arguments))))
                }
                dl.facts.small {
                    dt { "Requested by" } dd {
                        @match &request.client { Some(client) => (UntrustedText::new(client).shortened(80)), None => "an unnamed client" }
                        span.faint { @if request.offers_session { " · session " code { (line(&request.session)) } } " · " (Ago { now, then: Some(request.asked_at) }) }
                    }
                    dt { "Rule" } dd { code { (line(&request.rule)) } }
                }
                details { summary { "The tool's definition" } (code(&pretty(&request.definition))) }
                div.row role="group" aria-label="Decide" data-choices {
                    (button(id, "once", "Allow once", "primary"))
                    @if request.offers_session { (button(id, "session", "Allow for this session", "")) }
                    (button(id, "always", "Always allow", ""))
                    (button(id, "refuse", "Refuse", "warns"))
                }
            }
        }
    }
}

fn button(id: &str, decision: &str, label: &str, class: &str) -> Markup {
    let done = match decision {
        "refuse" => "The call was refused",
        "once" => "The call may run",
        "session" => "This version of the tool may run in that session",
        _ => "This version of the tool may run from now on",
    };
    html! {
        button class=(class) type="button" data-call=(format!("POST /api/v1/approvals/{id}")) data-body=(format!(r#"{{"decision":"{decision}"}}"#))
            data-done=(done) data-admin { (label) }
    }
}

fn grant_list(grants: &ToolResult<Vec<Grant>>, catalog: &Catalog, now: Timestamp) -> Markup {
    let Ok(grants) = grants else {
        return html! {};
    };
    html! {
        section.card aria-labelledby="grants-title" {
            header { h2 id="grants-title" { "Always allowed" } p { "each for one version of a tool; a changed tool asks again" } }
            @if grants.is_empty() {
                div.body { p.muted { "No tool is always allowed." } }
            } @else {
                table {
                    caption.visually-hidden { "Grants" }
                    thead { tr { th scope="col" { "Tool" } th.tight.medium scope="col" { "Granted" } th.tight.medium scope="col" { "By" } th.tight scope="col" { span.visually-hidden { "Actions" } } } }
                    tbody { @for grant in grants.iter().take(ROWS) {
                        tr data-row=(grant.exposed) {
                            th scope="row" { a.name-link.mono href=(format!("/tools/{}", escaped(&grant.exposed))) { (line(&grant.exposed)) }
                                @if is_outdated(catalog, grant) {
                                    span.sub { span.chip.warn { "outdated" } " The tool or its server changed; it asks again." }
                                }
                            }
                            td.tight.medium { (Ago { now, then: Some(grant.at) }) }
                            td.tight.medium { (line(&grant.by)) }
                            td.tight { button.slim.warns type="button" data-revoke=(grant.exposed) data-admin aria-label=(format!("Revoke the grant for {}", line(&grant.exposed))) { "Revoke" } }
                        }
                    } }
                }
                @if grants.len() > ROWS { footer { "and " (thousands((grants.len() - ROWS) as u64)) " more" } }
            }
        }
    }
}
