//! *Add a server*: a form whose answer is the server's discovery, told as it happens.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_config::LOADER_VARIABLES;

use super::Pages;
use super::page::{Page, Section};
use super::request::{PageRequest, query_string};

/// The command that runs the built-in server.
const EXAMPLE: &str = "example-server";

/// The form, filled in for the built-in server.
pub(super) fn example_link(pages: &Pages) -> String {
    let command = shell_quoted(pages.web.command());
    let command = format!("{command} {EXAMPLE}");
    let about = "Small built-in tools to try things with";
    format!(
        "/add-server{}",
        query_string(&[("name", "example"), ("command", &command), ("about", about)])
    )
}

/// A word as a shell would need it.
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
            p.lead { "It is written to your configuration file and asked for its tools at once." }
        } }
    };
    let body = html! {
        div.two-one {
            (form(&request))
            div.stack {
                section.card aria-labelledby="found-title" {
                    header { h2 id="found-title" { "What happens" } }
                    div.body.stack-tight id="progress" aria-live="polite" {
                        p.muted { "Once you add it, its program is started, asked for its tools, and stopped again. You see here what it answers." }
                    }
                }
                section.card aria-labelledby="paste-title" {
                    header { h2 id="paste-title" { "From another client" } }
                    div.body.stack {
                        div.field {
                            label for="paste" { "Paste an entry of " code { "mcpServers" } }
                            textarea.mono id="paste" rows="6" spellcheck="false" placeholder=r#"{"github": {"command": "npx", "args": ["-y", "…"]}}"# {}
                            span.hint { "It fills in the form; nothing is added yet." }
                        }
                        div { button.slim type="button" id="paste-take" { "Fill in the form" } }
                        div.stack-tight id="paste-found" {}
                    }
                }
                div.row.small { span.muted { "Nothing at hand?" } a href=(example_link(&pages)) { "Fill in the built-in example server" } }
            }
        }
    };
    Page::new(Section::Servers, "Add a server", head, body)
        .answer(&pages, &request)
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
                    span.hint { "Small letters, digits and " code { "_" } "; its tools are called " code { "name__tool" } "." }
                }
                fieldset {
                    legend.visually-hidden { "How it is reached" }
                    div.row {
                        label.choice { input type="radio" name="kind" value="stdio" checked; "A program on this machine" }
                        label.choice { input type="radio" name="kind" value="http"; "An address" }
                    }
                }
                div.stack data-kind="stdio" {
                    div.field data-field="command" {
                        label.needed for="command" { "Command" }
                        input.mono id="command" name="command" value=(filled("command")) spellcheck="false" placeholder="npx -y @modelcontextprotocol/server-everything";
                        span.hint { "As in a terminal, with quotes where a word has spaces. No shell takes part." }
                    }
                    div.field { span.small.faint { "Runs exactly these words:" } div.words id="words" { span.small.faint { "—" } } }
                    (pairs("env", "Variables", "NAME", "${secret:NAME} or a value"))
                    div.field data-field="cwd" {
                        label for="cwd" { "Folder " span.faint { "(optional)" } }
                        input.mono id="cwd" name="cwd" spellcheck="false" placeholder="/home/me/project";
                    }
                }
                div.stack data-kind="http" hidden {
                    div.field data-field="url" {
                        label.needed for="url" { "Address" }
                        input.mono id="url" name="url" type="url" spellcheck="false" placeholder="https://mcp.example.com/mcp";
                    }
                    (pairs("headers", "Headers", "X-Name", "value or ${secret:NAME}"))
                }
                div.field data-field="description" {
                    label for="description" { "What it is for " span.faint { "(optional)" } }
                    input id="description" name="description" value=(filled("about"));
                    span.hint { "Helps search to find its tools." }
                }
                div.row {
                    button.primary type="submit" data-admin { "Add and discover" }
                    a.button.quiet href="/servers" { "Cancel" }
                }
                p.small.faint { "Keep secrets out of the file: " code { "pegboard secret set NAME" } ", then write " code { "${secret:NAME}" } " here." }
            }
        }
    }
}

/// The variables that change what a program loads, for the script that warns while a name is typed.
fn loader_variables() -> String {
    let rows = LOADER_VARIABLES.iter();
    let rows: Vec<[&str; 2]> = rows.map(|row| [row.name, row.reason]).collect();
    serde_json::to_string(&rows).unwrap_or_default()
}

/// Names with values, as many as are wanted.
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
