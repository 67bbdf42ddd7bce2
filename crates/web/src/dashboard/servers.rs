//! *Servers*: the configured servers with their status.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::ServerEntry;
use pegboard_config::masked_command_line;
use pegboard_model::{ServerName, Timestamp};

use super::components::{Pager, clamp_page, empty};
use super::display::{Ago, line, thousands};
use super::icons::{Icon, icon};
use super::page::{Page, Section, heading_with_actions};
use super::request::PageRequest;
use super::status::{CACHED, CRASHED, ServerStatus, policy_chip};
use super::{Pages, add_server};

/// Page size.
const ROWS: usize = 100;

/// The filters by state, with the status labels of each.
const STATES: &[(&str, &[&str])] = &[
    ("known", &["known", CACHED]),
    ("running", &["running", "busy"]),
    ("failed", &["failed", CRASHED]),
    ("not trusted", &["not trusted", "changed, not trusted"]),
    ("disabled", &["disabled"]),
];

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let hub = pages.hub();
    let catalog = hub.catalog();
    let text = request.query("q").unwrap_or_default().to_lowercase();
    let state = request.query("state").unwrap_or_default();
    let labels = STATES
        .iter()
        .find(|(name, _)| *name == state)
        .map(|(_, labels)| *labels);
    let chosen: Vec<(&Arc<ServerEntry>, ServerStatus)> = catalog
        .servers()
        .map(|entry| (entry, ServerStatus::of(entry, &hub.health_of(entry))))
        .filter(|(entry, status)| {
            let is_named = text
                .split_whitespace()
                .all(|word| matches_word(entry, word));
            is_named && labels.is_none_or(|labels| labels.contains(&status.label))
        })
        .collect();
    let head = heading_with_actions(
        "Servers",
        "All configured servers with their last known tools. Viewing this page starts none.",
        &html! {
            button type="button" data-call="POST /api/v1/refresh" data-body=r#"{"force":true}"# data-refresh {
                (icon(Icon::Refresh)) "Refresh all"
            }
            a.button.primary href="/add-server" { (icon(Icon::Plus)) "Add a server" }
        },
    );
    let total = catalog.servers().count();
    let page = clamp_page(request.page(), ROWS, chosen.len());
    let body = html! {
        (filters(&text, state))
        div.card id="list" data-live="catalog" {
            @if total == 0 {
                (empty("No server is configured yet", "A server provides tools: a program on this machine, or a URL.", &html! {
                    a.button.primary href="/add-server" { (icon(Icon::Plus)) "Add a server" }
                    a.button href=(add_server::example_link(&pages)) { "Try the example server" }
                }))
            } @else if chosen.is_empty() {
                (empty("No server matches", "Change the filter or the state.", &html! { a.button href="/servers" { "Show all" } }))
            } @else {
                (table(chosen.iter().skip((page - 1) * ROWS).take(ROWS), pages.now()))
                (Pager { path: "/servers", values: &[("q", &text), ("state", state)], page, size: ROWS, total: chosen.len(), noun: "servers" }.render())
            }
        }
    };
    Page::new(Section::Servers, "Servers", head, body)
        .render(&pages, &request)
        .await
}

fn matches_word(entry: &ServerEntry, word: &str) -> bool {
    let described = entry.spec.description.as_deref().unwrap_or_default();
    entry.name().as_str().contains(word)
        || described.to_lowercase().contains(word)
        || masked_command_line(&entry.spec.transport)
            .to_lowercase()
            .contains(word)
}

fn filters(text: &str, state: &str) -> Markup {
    html! {
        form.filters role="search" action="/servers" data-filter="list" {
            div.find {
                input type="search" name="q" value=(text) placeholder="Filter servers" aria-label="Filter servers" autocomplete="off" data-slash;
                (icon(Icon::Search))
                kbd aria-hidden="true" { "/" }
            }
            select name="state" aria-label="State" {
                option value="" { "All states" }
                @for (name, _) in STATES { option value=(name) selected[*name == state] { (name) } }
            }
            noscript { button type="submit" { "Filter" } }
        }
    }
}

fn table<'a>(
    chosen: impl Iterator<Item = &'a (&'a Arc<ServerEntry>, ServerStatus)>,
    now: Timestamp,
) -> Markup {
    html! {
        table data-keys {
            caption.visually-hidden { "Servers" }
            thead { tr {
                th scope="col" { "Server" }
                th.tight scope="col" { "State" }
                th.tight.num scope="col" { "Tools" }
                th.tight.num.medium scope="col" { "Tokens" }
                th.tight.medium scope="col" { "Refreshed" }
                th.tight.wide scope="col" { "Policy" }
                th.tight.medium scope="col" { span.visually-hidden { "Actions" } }
            } }
            tbody { @for (entry, status) in chosen { (row(entry, *status, now)) } }
        }
    }
}

fn row(entry: &Arc<ServerEntry>, status: ServerStatus, now: Timestamp) -> Markup {
    let name = entry.name();
    let spec = &entry.spec;
    let tokens: u64 = entry
        .visible_tools()
        .map(|tool| u64::from(tool.tokens()))
        .sum();
    html! {
        tr.pick {
            th.fill scope="row" {
                a.name-link href=(format!("/servers/{name}")) { (name) }
                span.sub.clip {
                    @match &spec.description {
                        Some(text) => (line(text)),
                        None => code { (line(&masked_command_line(&spec.transport))) },
                    }
                }
            }
            td.tight { (status.render()) }
            td.tight.num { (thousands(entry.record.tools.len() as u64)) }
            td.tight.num.medium { (thousands(tokens)) }
            td.tight.medium { (Ago { now, then: entry.record.discovered_at }) }
            td.tight.wide { @if let Some(policy) = spec.policy { (policy_chip(policy, false)) } @else { span.faint { "—" } } }
            td.tight.medium {
                span.row.held {
                    button.slim type="button" data-call=(format!("POST /api/v1/servers/{name}/refresh")) data-refresh
                        disabled[!spec.enabled] aria-label=(format!("Refresh {name}")) { "Refresh" }
                    (enable_button(name, spec.enabled, "slim"))
                }
            }
        }
    }
}

/// The button that enables or disables a server.
pub(super) fn enable_button(name: &ServerName, enabled: bool, class: &str) -> Markup {
    let (path, label, done) = match enabled {
        true => (
            "disable",
            "Disable",
            "is disabled; its tools are no longer offered",
        ),
        false => ("enable", "Enable", "is enabled"),
    };
    html! {
        button class=(class) type="button" data-call=(format!("POST /api/v1/servers/{name}/{path}")) data-done=(format!("`{name}` {done}"))
            data-admin aria-label=(format!("{label} {name}")) { (label) }
    }
}
