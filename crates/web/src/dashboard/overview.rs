//! *Overview*: servers, tools, tokens and errors at a glance.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::{Catalog, ServerEntry, Statistics};
use pegboard_gateway::fixed_surface;
use pegboard_guard::estimate_tokens;
use pegboard_hub::{Hub, RunState, ServerHealth};
use pegboard_model::{Activity, DiscoveryStatus, Timestamp};

use super::activity::rows;
use super::components::{bar, empty, inline_code, message};
use super::display::{Ago, block, count, thousands};
use super::icons::{Icon, icon};
use super::page::{Page, Section, heading};
use super::request::PageRequest;
use super::status::{ServerStatus, Tone};
use super::{Pages, add_server};

/// Activity entries shown.
const RECENT: usize = 8;
/// Largest number of running and of failing servers shown.
const SHOWN: usize = 8;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let catalog = pages.hub().catalog();
    let health = pages.hub().health();
    let activity = pages.hub().activity(RECENT, None).await.unwrap_or_default();
    let now = pages.now();
    let head = heading(
        "Overview",
        "Every tool of every server, known without starting any.",
    );
    let problems = problems(&pages);
    let body = match catalog.servers().next().is_none() && catalog.static_tools().next().is_none() {
        true => html! {
            div.stack id="overview" data-live="catalog" { (problems) (welcome(&pages)) }
        },
        false => html! {
            div.stack id="overview" data-live="catalog activity" {
                (problems)
                (figures(&catalog, pages.hub()))
                div.halves {
                    (running(&health, now))
                    (errors(&catalog, now))
                }
                (recent(&activity, now))
            }
        },
    };
    Page::new(Section::Overview, "Overview", head, body)
        .render(&pages, &request)
        .await
}

/// Problems in the configuration files, each with file and line.
fn problems(pages: &Pages) -> Markup {
    let config_admin = pages.web.config_admin();
    let mut projects = config_admin.projects().into_iter();
    let running = projects.find(|project| project.is_running);
    let view = running.and_then(|running| config_admin.project(&running.id));
    let problems = view.map(|view| view.problems).unwrap_or_default();
    html! {
        @if !problems.is_empty() {
            section.callout.warn aria-labelledby="problems" {
                strong id="problems" { (count(problems.len(), "problem")) " in the configuration" }
                span.small.muted { "Invalid parts are ignored; everything else works." }
                @for problem in problems.iter().take(SHOWN) {
                    div.code.log { pre tabindex="0" { (block(problem)) } }
                }
                @if problems.len() > SHOWN {
                    span.small { "and " (problems.len() - SHOWN) " more: " code { "pegboard config check" } }
                }
            }
        }
    }
}

fn figures(catalog: &Catalog, hub: &Hub) -> Markup {
    let counts = catalog.statistics();
    let mut tones: BTreeMap<Tone, usize> = BTreeMap::new();
    for entry in catalog.servers() {
        let status = ServerStatus::of(entry, &hub.health_of(entry));
        *tones.entry(status.tone).or_default() += 1;
    }
    let of = |tone| tones.get(&tone).copied().unwrap_or_default();
    let legend = [
        (Tone::Ok, "known"),
        (Tone::Run, "running"),
        (Tone::Warn, "need attention"),
        (Tone::Bad, "failed"),
        (Tone::Off, "inactive"),
    ];
    let parts: Vec<(&str, f64)> = legend
        .iter()
        .map(|(tone, _)| (tone.class(), of(*tone) as f64))
        .collect();
    html! {
        div.figures {
            div.card.figure {
                span.label { a href="/servers" { "Servers" } }
                span.value { (thousands(counts.servers.total as u64)) }
                (bar("Servers by state", &parts))
                div.legend {
                    @for (tone, label) in legend {
                        @if of(tone) > 0 { span class=(format!("state {}", tone.class())) { (of(tone)) " " (label) } }
                    }
                }
            }
            div.card.figure {
                span.label { a href="/tools" { "Tools" } }
                span.value { (thousands(counts.tools as u64)) small { "offered" } }
                (bar("Tools offered and not", &[("accent", counts.tools as f64), ("off", counts.disabled as f64)]))
                span.note { (tools_note(&counts)) }
            }
            (tokens(&counts))
        }
    }
}

fn tools_note(counts: &Statistics) -> String {
    let notes = [
        (counts.disabled, "not offered"),
        (counts.deprecated, "deprecated"),
        (counts.rejected, "rejected"),
        (counts.conflicts, "hidden by a tool of the program"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, note)| format!("{} {note}", thousands(*number as u64)))
        .collect();
    match notes.is_empty() {
        true => "All received tools are offered.".to_owned(),
        false => notes.join(", "),
    }
}

fn tokens(counts: &Statistics) -> Markup {
    let with = u64::from(estimate_tokens(&fixed_surface()));
    let without = counts.tokens;
    let saved = without.saturating_sub(with);
    let share = (saved * 100).checked_div(without).unwrap_or_default();
    html! {
        div.card.figure {
            span.label { "Tokens without Pegboard" }
            span.value { (thousands(without)) }
            (bar("All tokens", &[("warn", 1.0)]))
            span.note { "All definitions, in every request." }
        }
        div.card.figure {
            span.label { a href="/context" { "Tokens with Pegboard" } }
            span.value {
                (thousands(with))
                @if without > with { small { (share) " % less" } }
            }
            (bar("Share of the tokens without Pegboard", &[("ok", with as f64), ("", saved as f64)]))
            span.note { "Five meta tools that find and call all others." }
        }
    }
}

fn running(health: &[ServerHealth], now: Timestamp) -> Markup {
    let is_up = |health: &&ServerHealth| matches!(health.state, RunState::Running | RunState::Busy);
    let up: Vec<&ServerHealth> = health.iter().filter(is_up).collect();
    html! {
        section.card aria-labelledby="running" {
            header { h2 id="running" { "Running now" } p { (count(up.len(), "server")) } }
            @if up.is_empty() {
                (empty("No server is running", "A server starts when one of its tools is called, and stops when it is idle.", &html! {}))
            } @else {
                ul.list {
                    @for server in up.iter().take(SHOWN) {
                        li {
                            span class=(if server.state == RunState::Busy { "state run busy" } else { "state run" }) {
                                @if server.state == RunState::Busy { "busy" } @else { "running" }
                            }
                            a.name-link href=(format!("/servers/{}", server.server)) { (server.server) }
                            span.end { "refreshed " (Ago { now, then: server.last_discovered }) }
                        }
                    }
                }
                footer {
                    @if up.len() > SHOWN { a href="/servers?state=running" { "All " (up.len()) } " · " }
                    a href="/clients" { "Who uses them" }
                }
            }
        }
    }
}

fn errors(catalog: &Catalog, now: Timestamp) -> Markup {
    let is_failing = |entry: &&std::sync::Arc<ServerEntry>| {
        entry.spec.enabled && entry.status() == DiscoveryStatus::Failed
    };
    let mut failing: Vec<_> = catalog.servers().filter(is_failing).collect();
    failing.sort_by_key(|entry| std::cmp::Reverse(entry.record.attempted_at));
    html! {
        section.card aria-labelledby="errors" {
            header { h2 id="errors" { "Last errors" } p { (count(failing.len(), "server")) } }
            @if failing.is_empty() {
                (empty("No errors", "Server errors appear here, with the next step.", &html! {}))
            } @else {
                ul.list {
                    @for entry in failing.iter().take(SHOWN) {
                        li {
                            div.grow.stack-tight {
                                div.row.between {
                                    a.name-link href=(format!("/servers/{}", entry.name())) { (entry.name()) }
                                    span.small.faint { (Ago { now, then: entry.record.attempted_at }) }
                                }
                                @if let Some(note) = &entry.record.last_error {
                                    div.small.wrap.stack-tight { (message(&note.message)) }
                                    span.small.muted.wrap { (inline_code(&note.remedy)) }
                                }
                            }
                        }
                    }
                }
                @if failing.len() > SHOWN { footer { a href="/servers?state=failed" { "All " (failing.len()) } } }
            }
        }
    }
}

fn recent(activity: &[Activity], now: Timestamp) -> Markup {
    html! {
        section.card aria-labelledby="recent" {
            header { h2 id="recent" { "Recent activity" } a.small href="/activity" { "All activity" } }
            @if activity.is_empty() {
                (empty("No activity yet", "Calls, discoveries and decisions appear here.", &html! {
                    a.button href="/connect" { "Connect a client" }
                }))
            } @else {
                (rows(activity, now))
            }
        }
    }
}

/// The first steps, shown without any configured server.
fn welcome(pages: &Pages) -> Markup {
    html! {
        div.card { div.body {
            (empty("No server is configured yet", "Three steps to an agent that finds and calls your tools.", &html! {}))
            ol.steps {
                li { div.stack-tight {
                    strong { "Add a server" }
                    span.muted { "One of your own, or the small built-in example server." }
                    div.row {
                        a.button.primary href="/add-server" { (icon(Icon::Plus)) "Add a server" }
                        a.button href="/import" { "Import from other clients" }
                        a.button href=(add_server::example_link(pages)) { "Try the example server" }
                    }
                } }
                li { div.stack-tight {
                    strong { "Connect a client" }
                    span.muted { "Claude Code, Cursor, VS Code and others: " a href="/connect" { "configuration snippets" } "." }
                } }
                li { div.stack-tight {
                    strong { "Ask for something" }
                    span.muted { "Pegboard finds the tool and starts exactly its server. Try it yourself: " a href="/search" { "search" } "." }
                } }
            }
        } }
    }
}
