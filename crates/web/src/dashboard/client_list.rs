//! The clients on this machine, with buttons to connect and disconnect them.

use maud::{Markup, html};
use pegboard_model::ToolResult;

use super::components::inline_code;
use super::display::{count, line};
use super::import::problem;
use crate::client_admin::ClientInfo;

/// Largest number of servers that are named in a row.
const MAX_NAMED: usize = 6;

/// The card, and the dialog that shows a change before it is written.
pub(super) fn card(clients: &ToolResult<Vec<ClientInfo>>) -> Markup {
    html! {
        section.card id="clients" aria-labelledby="clients-title" data-live="clients" {
            header {
                h2 id="clients-title" { "Clients on this machine" }
                p { a href="/import" { "Import their servers" } }
            }
            @match clients {
                Ok(clients) => (table(clients)),
                Err(error) => div.body { (problem(error)) },
            }
        }
        (preview())
    }
}

fn table(clients: &[ClientInfo]) -> Markup {
    let is_installed = |client: &&ClientInfo| client.state != "not_installed";
    let installed: Vec<&ClientInfo> = clients.iter().filter(is_installed).collect();
    let others = clients.iter().filter(|client| !is_installed(client));
    let others: Vec<&str> = others.map(|client| client.name.as_str()).collect();
    html! {
        @if installed.is_empty() {
            div.body { p.muted { "No known client was found." } }
        } @else { div.table-wrap { table {
            caption.visually-hidden { "Clients on this machine" }
            thead { tr {
                th scope="col" { "Client" } th.tight scope="col" { "State" } th.medium scope="col" { "Direct servers" }
                th.tight scope="col" { span.visually-hidden { "Actions" } }
            } }
            tbody { @for client in installed { (row(client)) } }
        } } }
        @if !others.is_empty() {
            footer { details { summary { (count(others.len(), "client")) " not installed" } p.muted { (others.join(", ")) } } }
        }
    }
}

fn row(client: &ClientInfo) -> Markup {
    html! {
        tr data-client=(client.client) {
            th scope="row" {
                (client.name)
                @if let Some(file) = &client.file { span.sub { code { (line(file)) } } }
                @if let Some(problem) = &client.problem { span.sub.fault { (inline_code(problem)) } }
                @if let Some(entry) = &client.entry {
                    @if entry.is_missing { span.sub.fault { "Its program does not exist any more; connect it again." } }
                    @else if entry.is_other_program { span.sub { "It starts another program than this Pegboard." } }
                }
            }
            td.tight { (state(&client.state)) }
            td.medium { (servers(client)) }
            td.tight { (actions(client)) }
        }
    }
}

fn state(state: &str) -> Markup {
    let (class, text) = match state {
        "through_pegboard" => ("ok", "through Pegboard"),
        "both" => ("warn", "both"),
        "direct" => ("run", "direct"),
        "no_servers" => ("off", "no servers"),
        _ => ("bad", "unreadable"),
    };
    html! { span class=(format!("state {class}")) { (text) } }
}

fn servers(client: &ClientInfo) -> Markup {
    let named: Vec<String> = client
        .direct
        .iter()
        .take(MAX_NAMED)
        .map(|name| line(name))
        .collect();
    let more = client.direct.len().saturating_sub(MAX_NAMED);
    html! {
        (named.join(", "))
        @if more > 0 { " and " (more) " more" }
        @if !client.importable.is_empty() {
            span.sub { a href="/import" { (count(client.importable.len(), "server")) " to import" } }
        }
    }
}

fn actions(client: &ClientInfo) -> Markup {
    let can_take_over = client.state == "both";
    let key = &client.client;
    html! {
        @if client.entry.is_some() {
            @if can_take_over && client.has_record {
                button.slim type="button" data-connect=(key) data-name=(client.name) data-admin { "Take over" span.visually-hidden { " the servers of " (client.name) } }
            }
            button.slim type="button" data-disconnect=(key) data-name=(client.name) data-admin { "Disconnect" span.visually-hidden { " " (client.name) } }
        } @else if client.can_connect && client.state != "unreadable" {
            button.slim type="button" data-connect=(key) data-name=(client.name) data-admin { "Connect" span.visually-hidden { " " (client.name) } }
        } @else if !client.can_connect {
            span.small.faint { "import only" }
        }
    }
}

/// The dialog that shows a change; filled by the page's script.
fn preview() -> Markup {
    html! {
        dialog.wide-dialog id="preview" aria-labelledby="preview-title" {
            form method="dialog" {
                h2 id="preview-title" { "Change a client's file" }
                p.muted id="preview-text" {}
                label.choice id="preview-take-over" hidden {
                    input type="checkbox" checked;
                    span { "Take the servers that Pegboard has out of the file, so that they do not run twice" }
                }
                div.stack-tight id="preview-changes" {}
                div.row {
                    button type="submit" value="no" { "Cancel" }
                    button.primary type="submit" value="yes" id="preview-yes" { "Write the file" }
                }
            }
        }
    }
}
