//! *Connect*: configuration snippets for clients.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::Pages;
use super::client_list::card;
use super::clients::{ClientTab, TOKEN, client_tabs};
use super::components::{code, inline_code};
use super::display::block;
use super::page::{Page, Section, heading};
use super::request::{PageRequest, query_string};

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let key = request.query("client");
    let tabs = client_tabs();
    let chosen = tabs
        .iter()
        .find(|client| Some(client.key) == key)
        .or(tabs.first());
    let url = format!("{}/mcp", pages.web.url());
    let needs_token = pages
        .web
        .config_admin()
        .call_token()
        .is_ok_and(|token| token.is_some());
    let head = heading(
        "Connect",
        "Give an agent access to all tools: connect it here, or paste a snippet into its configuration.",
    );
    // The files of clients are shown to an administrator only.
    let installed = match request.viewer.is_admin() {
        true => Some(pages.web.config_admin().clients().await),
        false => None,
    };
    let body = html! {
        div.stack {
            @if let Some(installed) = &installed { (card(installed)) }
            h2 { "By hand" }
            nav.tabs aria-label="Clients" {
                @for client in &tabs {
                    a href=(format!("/connect{}", query_string(&[("client", client.key)]))) data-page
                        aria-current=[chosen.is_some_and(|chosen| chosen.key == client.key).then_some("page")] { (client.name) }
                }
            }
            @if let Some(client) = chosen { (snippets(client, &pages, &url, needs_token.then(|| token(client, &request)))) }
            (profiles(&pages, &url))
        }
    };
    Page::new(Section::Connect, "Connect", head, body)
        .render(&pages, &request)
        .await
}

fn snippets(client: &ClientTab, pages: &Pages, url: &str, token_button: Option<Markup>) -> Markup {
    let (command, variables) = (pages.web.command(), pages.web.variables());
    html! {
        div.stack {
            @if let Some(note) = client.note { div.callout { span { (inline_code(note)) } } }
            div.halves {
                section.card aria-labelledby="stdio-title" {
                    header { h2 id="stdio-title" { (client.name) " starts Pegboard" } span.chip { "stdio" } }
                    div.body.stack {
                        @if let Some(line) = client.connect_command(command, variables) {
                            div.stack-tight { span.small.muted { "With one command:" } (code(&line)) }
                            span.small.muted { "or by hand, in " (client.file()) ":" }
                        } @else {
                            span.small.muted { "In " (client.file()) ":" }
                        }
                        (code(&client.stdio_snippet(command, variables)))
                        p.small.faint { "No token is needed, and it works without this running Pegboard." }
                        @if !variables.is_empty() {
                            p.small.faint { "The variables point to the directories of this Pegboard, which are not the default ones." }
                        }
                    }
                }
                section.card aria-labelledby="http-title" {
                    header { h2 id="http-title" { (client.name) " connects to this Pegboard" } span.chip { "HTTP" } }
                    div.body.stack {
                        @match client.http_snippet(url, token_button.is_some()) {
                            Some(text) => {
                                span.small.muted { "In " (client.file()) ":" }
                                (with_token(&text))
                                @if let Some(button) = token_button { (button) }
                                @else { p.small.faint { "This Pegboard requires no token: every program on this machine may use it." } }
                            },
                            None => p.muted { "This client supports no URL in its file. Use stdio." },
                        }
                    }
                }
            }
        }
    }
}

/// A snippet whose token placeholder the page's script can fill.
fn with_token(text: &str) -> Markup {
    html! {
        div.code {
            pre tabindex="0" {
                @for (at, piece) in text.split(TOKEN).enumerate() {
                    @if at > 0 { span data-token { (TOKEN) } }
                    (block(piece))
                }
            }
            button.copy.slim type="button" data-copy { "Copy" }
        }
    }
}

fn token(client: &ClientTab, request: &PageRequest) -> Markup {
    html! {
        div.stack-tight {
            div.row {
                button.slim type="button" id="show-token" disabled[!request.viewer.is_admin()] { "Insert the token" }
                span.small.faint { "It allows calling every tool. Keep it secret." }
            }
            @if client.needs_token_variable() {
                p.small.muted { "Set the variable in your shell: " code { "export PEGBOARD_TOKEN=" span data-token { (TOKEN) } } }
            }
            p.small.faint { "In a terminal: " code { "pegboard token" } }
        }
    }
}

fn profiles(pages: &Pages, url: &str) -> Markup {
    let names = pages.web.gateway().profile_names();
    html! {
        @if !names.is_empty() {
            section.card aria-labelledby="profiles-title" {
                header { h2 id="profiles-title" { "Profiles" } p { "each offers a selection of servers" } }
                ul.list { @for name in &names {
                    li { code { (name) } span.wrap.muted { code { (url) "/" (name) } " or " code { "pegboard stdio --profile " (name) } } }
                } }
            }
        }
    }
}
