//! *Import*: the servers of other clients, to choose from.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::Pages;
use super::components::{empty, inline_code};
use super::display::{count, line};
use super::page::{Page, Section};
use super::request::PageRequest;
use crate::client_admin::{ImportFileInfo, ImportPreview, ImportServerInfo};
use pegboard_model::ToolError;

/// Largest number of servers on the page. The command line has no such limit.
const MAX_SERVERS: usize = 500;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let head = html! {
        div.page-head { div.titles {
            nav.crumbs aria-label="Where this is" { a href="/servers" { "Servers" } span aria-hidden="true" { "/" } }
            h1 { "Import servers" }
            p.lead { "Bring in the servers that your other MCP clients have. Their files are not changed." }
        } }
    };
    let body = match request.viewer.is_admin() {
        true => match pages.web.config_admin().import_plan().await {
            Ok(plan) => plan_view(&plan),
            Err(error) => problem(&error),
        },
        false => html! {
            div.callout.warn { span { "Log in with " code { "pegboard dashboard" } " to see the files of your clients." } }
        },
    };
    Page::new(Section::Servers, "Import servers", head, body)
        .render(&pages, &request)
        .await
}

/// A failure to read the clients' files.
pub(super) fn problem(error: &ToolError) -> Markup {
    html! {
        div.callout.bad role="alert" {
            strong { "The files of your clients cannot be read" }
            span { (inline_code(&error.message)) }
            span.muted { (inline_code(&error.remedy)) }
        }
    }
}

fn plan_view(plan: &ImportPreview) -> Markup {
    let importable = plan.servers.iter().filter(|server| server.is_importable);
    let secrets: usize = importable.clone().map(|server| server.secrets.len()).sum();
    let total = importable.count();
    if plan.files.is_empty() {
        return html! {
            div.card { (empty("No client was found", "None of the config files of known clients exists on this machine.",
                &html! { a.button href="/add-server" { "Add a server by hand" } })) }
        };
    }
    html! {
        form.stack id="import" data-plan=(plan.plan_hash) data-file=(plan.user_file) autocomplete="off" {
            @for scope in ["user", "project"] {
                @for file in plan.files.iter().filter(|file| file.scope == scope) { (file_card(file, plan)) }
            }
            @if plan.servers.len() > MAX_SERVERS {
                p.small.muted { "Only " (MAX_SERVERS) " servers are shown. " code { "pegboard import" } " imports them all." }
            }
            section.card aria-labelledby="import-title" {
                header { h2 id="import-title" { "Import" } p { "into " code { (line(&plan.user_file)) } } }
                div.body.stack {
                    @if secrets > 0 {
                        label.choice {
                            input type="checkbox" name="store" checked;
                            span { "Move what looks like a secret (" (count(secrets, "value")) ") into the secret store, and refer to it as " code { "${secret:NAME}" } }
                        }
                    }
                    div.row {
                        button.primary type="submit" data-admin disabled[total == 0] { "Import" span data-count {} }
                        a.button.quiet href="/servers" { "Cancel" }
                        @if total == 0 { span.small.muted { "There is nothing new to import." } }
                    }
                    div.stack-tight id="import-progress" aria-live="polite" {}
                }
            }
        }
    }
}

fn file_card(file: &ImportFileInfo, plan: &ImportPreview) -> Markup {
    let servers = file.servers.iter().filter(|index| **index < MAX_SERVERS);
    let servers: Vec<&ImportServerInfo> = servers
        .filter_map(|index| plan.servers.get(*index))
        .collect();
    html! {
        section.card aria-label=(format!("{}: {}", file.client_name, file.path)) {
            header { h2 { (file.client_name) } p { code { (line(&file.path)) } } }
            @if let Some(problem) = &file.problem {
                div.body { div.callout.bad { strong { "This file cannot be read" } span { (inline_code(problem)) } } }
            }
            @else if servers.is_empty() { div.body { p.muted { "It has no servers." } } }
            @else { div.table-wrap { table {
                caption.visually-hidden { "Servers in " (line(&file.path)) }
                thead { tr { th.tight scope="col" { span.visually-hidden { "Choose" } } th scope="col" { "Server" } th.tight scope="col" { "State" } } }
                tbody { @for server in servers { (row(server, file)) } }
            } } }
        }
    }
}

fn row(server: &ImportServerInfo, file: &ImportFileInfo) -> Markup {
    let source = server
        .sources
        .iter()
        .find(|source| source.client == file.client && source.path == file.path);
    let shown = source.map_or(&server.original_name, |source| &source.name);
    let is_first = server
        .sources
        .first()
        .is_some_and(|source| source.client == file.client && source.path == file.path);
    let name = server.name.as_deref().unwrap_or_default();
    html! {
        tr {
            td.tight {
                @if server.is_importable && is_first {
                    input type="checkbox" name="server" value=(name) checked[server.scope == "user"]
                        data-secrets=(server.secrets.len()) aria-label=(format!("Import {shown}"));
                }
            }
            th scope="row" {
                span { (line(shown)) }
                @if server.is_importable && name != shown { span.sub { "as " code { (name) } } }
                @if let Some(definition) = &server.definition { span.sub { code { (line(definition)) } } }
                @if is_first { (details(server)) }
            }
            td.tight { (state(server, is_first)) }
        }
    }
}

fn details(server: &ImportServerInfo) -> Markup {
    html! {
        @for secret in &server.secrets {
            span.sub { code { (line(&secret.place)) } " looks like a secret: " code { "${secret:" (secret.name) "}" } }
        }
        @for name in &server.missing_secrets {
            span.sub { "needs " code { "pegboard secret set " (line(name)) } }
        }
        @if !server.enabled && server.is_importable { span.sub { "is disabled in its client, and stays so" } }
        @for note in &server.notes { span.sub { (inline_code(note)) } }
        @if let Some(problem) = &server.problem { span.sub.fault { (inline_code(problem)) } }
    }
}

fn state(server: &ImportServerInfo, is_first: bool) -> Markup {
    let existing = server.existing.as_deref().unwrap_or_default();
    let (class, text) = match server.state.as_str() {
        "new" | "differs" if !is_first => ("off", "same as above".to_owned()),
        "new" => ("ok", "new".to_owned()),
        "differs" => ("warn", "new; the name is taken".to_owned()),
        "same" => ("off", format!("configured as {existing}")),
        "pegboard" => ("off", "is Pegboard".to_owned()),
        "read" => ("off", "Pegboard reads this file itself".to_owned()),
        _ => ("bad", "cannot be imported".to_owned()),
    };
    html! {
        span class=(format!("state {class}")) { (text) }
        @if server.scope == "project" { span.sub { "a project's; needs trust" } }
    }
}
