//! *Add a server*: a form that shows the discovery as it happens.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_config::LOADER_VARIABLES;

use super::Pages;
use super::page::{Page, Section};
use super::request::{PageRequest, query_string};

/// The command that runs the built-in server.
const EXAMPLE: &str = "example-server";

/// The link to the form, filled in for the built-in server.
pub(super) fn example_link(pages: &Pages) -> String {
    let command = shell_quoted(pages.web.command());
    let command = format!("{command} {EXAMPLE}");
    let about = "Small built-in tools for trying Pegboard";
    format!(
        "/add-server{}",
        query_string(&[("name", "example"), ("command", &command), ("about", about)])
    )
}

/// Quotes a word for a shell.
pub(super) fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let head = html! {
        div.page-head { div.titles {
            nav.crumbs aria-label="Where this is" { a href="/servers" { "Servers" } span aria-hidden="true" { "/" } }
            h1 { "Add a server" }
            p.lead { "It is written to your configuration file and discovered at once." }
        } }
    };
    let body = html! {
        div.two-one {
            (form(&request))
            div.stack {
                section.card aria-labelledby="found-title" {
                    header { h2 id="found-title" { "What happens" } }
                    div.body.stack-tight id="progress" aria-live="polite" {
                        p.muted { "Once you add it, Pegboard starts it, fetches its tools and stops it again. The result appears here." }
                    }
                }
                section.card aria-labelledby="paste-title" {
                    header { h2 id="paste-title" { "From another client" } }
                    div.body.stack {
                        div.field {
                            label for="paste" { "Paste an entry of " code { "mcpServers" } }
                            textarea.mono id="paste" rows="6" spellcheck="false" placeholder=r#"{"github": {"command": "npx", "args": ["-y", "…"]}}"# {}
                            span.hint { "This fills in the form; nothing is added yet." }
                        }
                        div { button.slim type="button" id="paste-take" { "Fill in the form" } }
                        div.stack-tight id="paste-found" {}
                    }
                }
                div.row.small { span.muted { "Servers in other clients?" } a href="/import" { "Import them" } }
                div.row.small { span.muted { "No server yet?" } a href=(example_link(&pages)) { "Use the built-in example server" } }
            }
        }
    };
    Page::new(Section::Servers, "Add a server", head, body)
        .render(&pages, &request)
        .await
}

fn form(request: &PageRequest) -> Markup {
    let filled = |name| request.query(name).unwrap_or_default();
    html! {
        section.card aria-labelledby="form-title" {
            header { h2 id="form-title" { "Definition" } }
            form.body.stack id="add-server" novalidate autocomplete="off" data-loader-variables=(loader_variables()) {
                div.field data-field="name" {
                    label.needed for="name" { "Name" }
                    input.mono id="name" name="name" value=(filled("name")) required spellcheck="false" placeholder="github";
                    span.hint { "Lowercase letters, digits and " code { "_" } "; its tools are named " code { "name__tool" } "." }
                }
                fieldset {
                    legend.visually-hidden { "Transport" }
                    div.row {
                        label.choice { input type="radio" name="kind" value="stdio" checked; "A program on this machine" }
                        label.choice { input type="radio" name="kind" value="http"; "A URL" }
                    }
                }
                div.stack data-kind="stdio" {
                    div.field data-field="command" {
                        label.needed for="command" { "Command" }
                        input.mono id="command" name="command" value=(filled("command")) spellcheck="false" placeholder="npx -y @modelcontextprotocol/server-everything";
                        span.hint { "As in a terminal, with quotes around arguments with spaces. No shell is involved." }
                    }
                    div.field { span.small.faint { "Runs exactly these arguments:" } div.words id="words" { span.small.faint { "—" } } }
                    (pairs("env", "Variables", "NAME", "${secret:NAME} or a value"))
                    div.field data-field="cwd" {
                        label for="cwd" { "Working directory " span.faint { "(optional)" } }
                        input.mono id="cwd" name="cwd" spellcheck="false" placeholder="/home/me/project";
                    }
                }
                div.stack data-kind="http" hidden {
                    div.field data-field="url" {
                        label.needed for="url" { "URL" }
                        input.mono id="url" name="url" type="url" spellcheck="false" placeholder="https://mcp.example.com/mcp";
                    }
                    (pairs("headers", "Headers", "X-Name", "value or ${secret:NAME}"))
                }
                div.field data-field="description" {
                    label for="description" { "Description " span.faint { "(optional)" } }
                    input id="description" name="description" value=(filled("about"));
                    span.hint { "Helps search find its tools." }
                }
                div.row {
                    button.primary type="submit" data-admin { "Add and discover" }
                    a.button.quiet href="/servers" { "Cancel" }
                }
                p.small.faint { "Keep secrets out of the file: run " code { "pegboard secret set NAME" } ", then use " code { "${secret:NAME}" } " here." }
            }
        }
    }
}

/// The variables that change what a program loads, for the script's warnings.
fn loader_variables() -> String {
    let rows = LOADER_VARIABLES.iter();
    let rows: Vec<[&str; 2]> = rows.map(|row| [row.name, row.reason]).collect();
    serde_json::to_string(&rows).unwrap_or_default()
}

/// A list of names with values.
fn pairs(name: &str, title: &str, key: &str, value: &str) -> Markup {
    html! {
        div.stack-tight role="group" aria-label=(title) data-pairs=(name) data-key-hint=(key) data-value-hint=(value) data-title=(title) {
            div.row.between {
                span.label { (title) " " span.faint { "(optional)" } }
                button.slim type="button" data-add-pair { "Add" span.visually-hidden { " to " (title) } }
            }
        }
    }
}
