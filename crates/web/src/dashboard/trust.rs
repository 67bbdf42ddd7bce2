//! The trust review of a project's server: everything it runs and receives.

use maud::{Markup, html};
use pegboard_catalog::ServerEntry;
use pegboard_config::{ShownDefinition, ShownValue, TrustReview};
use pegboard_model::TrustState;

use super::components::inline_code;

/// The notice on the page of an untrusted server. Texts of a review are already escaped.
pub(super) fn notice(entry: &ServerEntry, review: Option<&TrustReview>, is_admin: bool) -> Markup {
    let name = entry.name();
    html! {
        div.callout.warn id="trust" {
            strong {
                @if entry.spec.trust_state == TrustState::Changed { "This server's definition changed since it was trusted" }
                @else { "A project's file defines this server, and it is not trusted yet" }
            }
            @match review.filter(|_| is_admin) {
                Some(review) => (review_details(review)),
                None => span { "Log in with " code { "pegboard dashboard" } " to see what it would run, or use " code { "pegboard trust " (name) } "." },
            }
        }
    }
}

fn review_details(review: &TrustReview) -> Markup {
    let name = &review.server;
    html! {
        p.small { "Defined in " code { (review.place()) } }
        @if let Some(own) = &review.replaces {
            p { strong { "It " (own.sentence(name)) } }
        }
        @if let Some(shown) = &review.shown { (definition(shown)) }
        @match &review.refused {
            Some(why) => p { strong { "It cannot be trusted: " (why) "." } " Shorten the definition, or review it and add the server to your own config file." },
            None => div.row {
                button.primary.slim type="button" data-call=(format!("POST /api/v1/servers/{name}/trust"))
                    data-body=(format!(r#"{{"definitionHash":"{}"}}"#, review.hash)) data-admin
                    data-done=(format!("`{name}` is trusted")) { "Trust this server" }
                span.small.muted { "or " code { "pegboard trust " (name) } }
            },
        }
    }
}

fn definition(shown: &ShownDefinition) -> Markup {
    let intro = match shown.transport {
        "http" => "It would connect to exactly this URL:",
        _ => "It would run exactly this:",
    };
    html! {
        span { (intro) }
        code.command.exact { (shown.command) }
        @if let Some(folder) = &shown.folder {
            span { "in the directory" }
            code.command.exact { (folder) }
        }
        (values("with these variables:", "=", &shown.variables))
        (values("with these headers:", ": ", &shown.headers))
        @if let Some(sandbox) = &shown.sandbox {
            span { "confined:" }
            code.command.exact { (sandbox) }
        }
        @if !shown.integrity.is_empty() {
            span { "with exactly this package:" }
            ul.stack-tight { @for hash in &shown.integrity { li { code.command.exact { (hash) } } } }
        }
        @if !shown.receives.is_empty() {
            span { "It would receive from you:" }
            ul.stack-tight { @for received in &shown.receives { li { (received.sentence()) } } }
        }
    }
}

fn values(title: &str, between: &str, values: &[ShownValue]) -> Markup {
    html! {
        @if !values.is_empty() {
            span { (title) }
            ul.stack-tight {
                @for value in values {
                    li {
                        code.command.exact { (value.name) (between) (value.value) }
                        @if let Some(reason) = value.warning { span.fault { "Warning: " (inline_code(reason)) "." } }
                    }
                }
            }
        }
    }
}
