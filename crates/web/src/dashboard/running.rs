//! *Clients*: the connected clients of all projects, and the server instances that they share.

use std::path::Path;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_background::{ClientStatus, InstanceStatus, ProcessKind, ProcessPhase, ProcessStatus};
use pegboard_catalog::Catalog;
use pegboard_model::{ServerName, Timestamp};

use super::Pages;
use super::components::empty;
use super::display::{Ago, count, duration, line, thousands};
use super::page::{Page, Section, heading};
use super::request::PageRequest;

/// Largest number of clients and of instances shown.
const ROWS: usize = 100;
/// Largest number of projects named for an instance.
const PROJECTS: usize = 3;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let status = pages.web.process_status().await;
    let now = pages.now();
    let head = heading(
        "Clients",
        "Every client of this Pegboard, in all projects, and the running servers that they share.",
    );
    let catalog = pages.hub().catalog();
    let body = html! {
        div.stack id="running" data-live="catalog activity process" {
            (process(&status, now))
            (clients(&status, now))
            (instances(&status, &catalog, now))
        }
    };
    Page::new(Section::Clients, "Clients", head, body)
        .render(&pages, &request)
        .await
}

fn process(status: &ProcessStatus, now: Timestamp) -> Markup {
    let kind = match status.kind {
        ProcessKind::Background => "started by a client",
        ProcessKind::Foreground => "started by you",
    };
    html! {
        @if status.phase != ProcessPhase::Serving {
            div.callout.warn {
                strong { "This process is being replaced" }
                span { "Its clients move to another process as soon as they have no open request." }
            }
        } @else if status.is_replaced {
            div.callout.warn {
                strong { "Another version of the program was installed" }
                span { "This process still runs the version " (line(&status.build)) "." }
            }
        }
        p.small.muted {
            "Process " (status.pid) ", version " (line(&status.build)) ", " (kind)
            @if status.started > 0 { " " (Ago { now, then: Some(Timestamp(status.started)) }) }
        }
    }
}

fn clients(status: &ProcessStatus, now: Timestamp) -> Markup {
    let all = &status.clients;
    html! {
        section.card aria-labelledby="connected-title" {
            header { h2 id="connected-title" { "Connected clients" } p { (count(all.len(), "client")) } }
            @if all.is_empty() {
                (empty("No client is connected", "Agents and editors appear here while they are connected.", &html! {
                    a.button href="/connect" { "Connect a client" }
                }))
            } @else {
                div.table-wrap { table {
                    caption.visually-hidden { "Connected clients" }
                    thead { tr {
                        th scope="col" { "Client" }
                        th scope="col" { "Project" }
                        th.tight.medium scope="col" { "Profile" }
                        th.tight.num scope="col" { "Calls" }
                        th.tight.medium scope="col" { "Connected" }
                        th.tight.wide scope="col" { "Last request" }
                    } }
                    tbody { @for client in all.iter().take(ROWS) { (client_row(client, now)) } }
                } }
                @if all.len() > ROWS { footer { "and " (thousands((all.len() - ROWS) as u64)) " more" } }
            }
        }
    }
}

fn client_row(client: &ClientStatus, now: Timestamp) -> Markup {
    html! {
        tr {
            th scope="row" {
                @match &client.name { Some(name) => (line(name)), None => span.faint { "not named yet" } }
                span.sub {
                    (line(&client.transport))
                    @if let Some(pid) = client.pid { ", process " (pid) }
                }
            }
            td { (folder(&client.project)) }
            td.tight.medium { @if client.profile.is_empty() { span.faint { "—" } } @else { (line(&client.profile)) } }
            td.tight.num { (thousands(client.calls)) }
            td.tight.medium { (Ago { now, then: Some(Timestamp(client.since)) }) }
            td.tight.wide { (Ago { now, then: client.last_seen.map(Timestamp) }) }
        }
    }
}

/// A directory: its name, and the whole path below it.
fn folder(path: &Path) -> Markup {
    let whole = path.display().to_string();
    let name = path.file_name().map(|name| name.to_string_lossy());
    html! {
        @match name {
            Some(name) => { (line(&name)) span.sub.wrap { code { (line(&whole)) } } },
            None if whole.is_empty() => span.faint { "—" },
            None => code { (line(&whole)) },
        }
    }
}

fn instances(status: &ProcessStatus, catalog: &Catalog, now: Timestamp) -> Markup {
    let all = &status.instances;
    html! {
        section.card aria-labelledby="instances-title" {
            header { h2 id="instances-title" { "Running servers" } p { (count(all.len(), "instance")) } }
            @if all.is_empty() {
                (empty("No server is running", "A server starts when one of its tools is called, and stops when it is idle.", &html! {}))
            } @else {
                div.table-wrap { table {
                    caption.visually-hidden { "Running server instances" }
                    thead { tr {
                        th scope="col" { "Server" }
                        th scope="col" { "Shared by" }
                        th.tight.num.medium scope="col" { "Clients" }
                        th.tight.medium scope="col" { "Idle" }
                        th.tight.num.medium scope="col" { "Memory" }
                        th.tight.wide scope="col" { "Started" }
                        th.tight scope="col" { span.visually-hidden { "Actions" } }
                    } }
                    tbody { @for instance in all.iter().take(ROWS) { (instance_row(instance, status, catalog, now)) } }
                } }
                @if all.len() > ROWS { footer { "and " (thousands((all.len() - ROWS) as u64)) " more" } }
            }
        }
    }
}

fn instance_row(
    instance: &InstanceStatus,
    status: &ProcessStatus,
    catalog: &Catalog,
    now: Timestamp,
) -> Markup {
    html! {
        tr {
            th scope="row" {
                (server_link(&instance.server, catalog))
                span.sub { @match instance.pid { Some(pid) => { "process " (pid) }, None => "remote" } }
            }
            td {
                (scope(instance))
                span.sub { (line(&instance.reason)) }
                @if instance.takes_turns { span.sub { "sessions take turns: it requested input from a client" } }
            }
            td.tight.num.medium { (thousands(status.clients_of(instance).count() as u64)) }
            td.tight.medium { (idle(instance)) }
            td.tight.num.medium { (memory(instance.memory_bytes)) }
            td.tight.wide { (Ago { now, then: Some(Timestamp(instance.started)) }) }
            td.tight { @if let Some(id) = instance.id { (stop_button(id, &instance.server)) } }
        }
    }
}

/// The name of a server; a link if it has a page, which a server of another project may not have.
fn server_link(server: &str, catalog: &Catalog) -> Markup {
    let name = ServerName::parse(server).ok();
    let name = name.filter(|name| catalog.server(name).is_some());
    html! {
        @match name {
            Some(name) => a.name-link href=(format!("/servers/{name}")) { (name) },
            None => (line(server)),
        }
    }
}

fn scope(instance: &InstanceStatus) -> Markup {
    let mut projects: Vec<&str> = instance
        .leases
        .iter()
        .map(|lease| lease.view.as_str())
        .collect();
    projects.sort_unstable();
    projects.dedup();
    let named: Vec<String> = projects
        .iter()
        .take(PROJECTS)
        .map(|path| match Path::new(path).file_name() {
            Some(name) => line(&name.to_string_lossy()),
            None => line(path),
        })
        .collect();
    let more = projects.len().saturating_sub(PROJECTS);
    html! {
        @match instance.scope.as_str() {
            "user" => "all clients",
            "project" => "the clients of one project",
            "session" => "one session",
            other => (line(other)),
        }
        @if !named.is_empty() {
            span.faint { " · " (named.join(", ")) @if more > 0 { " and " (more) " more" } }
        }
    }
}

fn idle(instance: &InstanceStatus) -> Markup {
    html! {
        @match instance.idle_ms {
            Some(idle) => (duration(Duration::from_millis(idle))),
            None if instance.in_flight > 0 => span.state.run.busy { "busy" },
            None => span.faint { "—" },
        }
    }
}

fn memory(bytes: Option<u64>) -> Markup {
    const MEBIBYTE: u64 = 1024 * 1024;
    html! {
        @match bytes {
            Some(bytes) => { (thousands(bytes.div_ceil(MEBIBYTE))) " MiB" },
            None => span.faint { "—" },
        }
    }
}

fn stop_button(id: u64, server: &str) -> Markup {
    let server = line(server);
    html! {
        button.slim type="button" data-admin data-call=(format!("POST /api/v1/instances/{id}/stop"))
            data-confirm=(format!("Stop `{server}`?"))
            data-confirm-text="Open calls of all its clients fail. The next call starts it again."
            data-confirm-yes="Stop" data-done=(format!("`{server}` was stopped"))
            aria-label=(format!("Stop {server}")) { "Stop" }
    }
}
