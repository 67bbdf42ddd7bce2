//! *Activity*: the activity log, newest first.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_model::{Activity, ActivityKind, Timestamp, ToolResult, UntrustedText};

use super::Pages;
use super::components::{empty, inline_code};
use super::display::{Ago, duration, line, thousands};
use super::page::{Page, Section, heading};
use super::request::{PageRequest, escaped, query_string};
use super::status::outcome_tone;

/// Entries of one page.
const LINES: usize = 50;
/// Entries of one read when only one kind is shown.
const READ_SIZE: usize = 500;
/// Largest number of reads for one page of one kind.
const MAX_READS: usize = 10;

/// Characters shown of a client's name and version.
const CLIENT_CHARACTERS: usize = 40;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let kind = request.query("kind").and_then(ActivityKind::parse);
    let before = request
        .query("before")
        .and_then(|before| before.parse().ok());
    let read = read(&pages, kind, before).await;
    let head = heading(
        "Activity",
        "Calls, discoveries, decisions and configuration changes, without their contents.",
    );
    let body = html! {
        (kinds(kind))
        div.card id="activity" data-live=[before.is_none().then_some("activity catalog approvals")] {
            @match &read {
                Ok((lines, older)) => (list(lines, kind, before, *older, pages.now())),
                Err(error) => div.body { div.callout.bad { strong { "The log could not be read" } (line(&error.message)) span.muted { (inline_code(&error.remedy)) } } },
            }
        }
        @let dropped = pages.hub().activity_dropped();
        @if dropped > 0 {
            p.small.faint { (thousands(dropped)) " entries were dropped because they could not be written fast enough." }
        }
    };
    Page::new(Section::Activity, "Activity", head, body)
        .render(&pages, &request)
        .await
}

/// A page of the log, and the position where the next one starts.
async fn read(
    pages: &Pages,
    kind: Option<ActivityKind>,
    before: Option<u64>,
) -> ToolResult<(Vec<Activity>, Option<u64>)> {
    let mut from = before;
    let mut found = Vec::new();
    for _ in 0..MAX_READS {
        let max = if kind.is_some() { READ_SIZE } else { LINES + 1 };
        let lines = pages.hub().activity(max, from).await?;
        let is_end = lines.len() < max;
        from = lines.last().map(|line| line.id);
        found.extend(
            lines
                .into_iter()
                .filter(|line| kind.is_none_or(|kind| line.kind == kind)),
        );
        if is_end {
            from = None;
        }
        if is_end || found.len() > LINES {
            break;
        }
    }
    let older = match found.len() > LINES {
        true => found.get(LINES - 1).map(|line| line.id),
        false => from,
    };
    found.truncate(LINES);
    Ok((found, older))
}

fn kinds(chosen: Option<ActivityKind>) -> Markup {
    let all = std::iter::once(None).chain(ActivityKind::ALL.into_iter().map(Some));
    html! {
        div.filters { nav.tabs aria-label="Kinds of activity" {
            @for kind in all {
                @let label = kind.map_or("all", ActivityKind::as_str);
                a href=(format!("/activity{}", query_string(&[("kind", kind.map_or("", ActivityKind::as_str))])))
                    aria-current=[(kind == chosen).then_some("true")] { (label) }
            }
        } }
    }
}

fn list(
    lines: &[Activity],
    kind: Option<ActivityKind>,
    before: Option<u64>,
    older: Option<u64>,
    now: Timestamp,
) -> Markup {
    let kind = kind.map_or("", ActivityKind::as_str);
    html! {
        @if lines.is_empty() {
            (empty("Nothing here", "Calls of clients and results of servers appear here as they happen.", &html! {
                a.button href="/connect" { "Connect a client" }
                a.button href="/tools" { "Try a tool" }
            }))
        } @else {
            (rows(lines, now))
        }
        @if before.is_some() || older.is_some() {
            nav.pager aria-label="Pages" {
                @if before.is_some() {
                    a.button.slim href=(format!("/activity{}", query_string(&[("kind", kind)]))) { "Newest" }
                } @else { span {} }
                @if let Some(older) = older {
                    a.button.slim href=(format!("/activity{}", query_string(&[("kind", kind), ("before", &older.to_string())]))) { "Older" }
                }
            }
        }
    }
}

/// Entries of the log as a table.
pub(super) fn rows(lines: &[Activity], now: Timestamp) -> Markup {
    html! {
        table {
            caption.visually-hidden { "Activity, newest first" }
            thead { tr {
                th.tight scope="col" { "When" }
                th.tight.medium scope="col" { "Kind" }
                th scope="col" { "What" }
                th.tight scope="col" { "Result" }
                th.tight.num.medium scope="col" { "Took" }
                th.tight.wide scope="col" { "Client" }
                th.tight.wide scope="col" { "Session" }
                th.tight.wide scope="col" { "Trace" }
            } }
            tbody { @for entry in lines { (row(entry, now)) } }
        }
    }
}

fn row(entry: &Activity, now: Timestamp) -> Markup {
    let tone = outcome_tone(entry.kind, &entry.outcome);
    html! {
        tr {
            td.tight.faint { (Ago { now, then: Some(entry.at) }) }
            td.tight.medium { (entry.kind.as_str()) }
            td { (subject(entry)) }
            td.tight { span class=(format!("state {}", tone.class())) { (line(&entry.outcome)) } }
            td.tight.num.medium { @if let Some(ms) = entry.duration_ms { (duration(std::time::Duration::from_millis(ms))) } }
            td.tight.wide { @if let Some(client) = &entry.client { (UntrustedText::new(client).shortened(CLIENT_CHARACTERS)) } }
            td.tight.wide { @if let Some(session) = &entry.session { code.faint title=(line(session)) { (short(session)) } } }
            td.tight.wide { @if let Some(trace) = &entry.trace {
                button.link.mono type="button" data-copy-text=(trace.as_str()) title=(format!("Copy {trace}")) { (end(trace.as_str())) }
            } }
        }
    }
}

/// The subject of an entry: the tool, else the server.
fn subject(entry: &Activity) -> Markup {
    let server = entry.server.as_ref();
    html! {
        @match (&entry.tool, entry.kind) {
            (Some(tool), ActivityKind::Call | ActivityKind::Approval) if tool != "unknown" => {
                a.name-link.mono href=(format!("/tools/{}", escaped(tool))) { (line(tool)) }
            },
            (Some(tool), _) => {
                code { (line(tool)) }
                @if let Some(server) = server { " of " a href=(format!("/servers/{server}")) { (server) } }
            },
            (None, _) => @match server {
                Some(server) => a.name-link href=(format!("/servers/{server}")) { (server) },
                None => span.faint { "—" },
            },
        }
    }
}

fn short(id: &str) -> String {
    let start: String = id.chars().take(8).collect();
    line(&start)
}

/// The part of a trace id that differs within one process.
fn end(trace: &str) -> &str {
    trace.get(24..).unwrap_or(trace)
}
