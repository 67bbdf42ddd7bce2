//! One tool: what it takes, what may be done with it, and a way to try it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::{Description, Parameter, ToolView, describe};
use pegboard_model::{Reason, ServerName, ToolError, UntrustedText};

use super::Pages;
use super::components::{code, empty, inline_code};
use super::display::{block, line, pretty, thousands};
use super::formats::formats;
use super::page::{Page, Section};
use super::request::{PageRequest, escaped};
use super::server_cards::POLICIES;
use super::status::{hint_chips, policy_chip, tool_status};

/// Bytes of a schema that a form is made of; beyond it there is the JSON editor.
const FORM_SCHEMA_BYTES: usize = 256 * 1024;

pub(super) async fn show(
    State(pages): State<Pages>,
    Path(name): Path<String>,
    request: PageRequest,
) -> Response {
    let catalog = pages.hub().catalog();
    let known = catalog
        .all_tools()
        .find(|view| view.exposed().as_str() == name);
    let view = match known.map(Ok).unwrap_or_else(|| catalog.find(&name)) {
        Ok(view) => view,
        Err(error) => return unknown(&pages, &error, &request).await,
    };
    let told = describe(&view);
    let body = html! {
        div.stack {
            div id="notices" data-live="catalog" { (notices(&view, &told)) }
            div.two-one {
                div.stack {
                    (description(&told))
                    div id="parameters" data-live="catalog" { (parameters(&told.parameters)) }
                    (examples(&told))
                }
                div.stack {
                    (try_form(&view, &told))
                    div id="policy" data-live="catalog" { (policy(&pages, &view, &request)) }
                    (related(&told))
                }
            }
            (formats(&view, request.query("format")))
            (definition(&view))
        }
    };
    let page = Page::new(Section::Tools, told.name.clone(), head(&view, &told), body);
    page.answer(&pages, &request).await
}

fn head(view: &ToolView<'_>, told: &Description) -> Markup {
    let (word, tone) = tool_status(view);
    html! {
        div.page-head id="head" data-live="catalog" {
            div.titles.stack-tight {
                nav.crumbs aria-label="Where this is" {
                    a href="/tools" { "Tools" } span aria-hidden="true" { "/" }
                    @match view.server() {
                        Some(server) => a href=(format!("/servers/{server}")) { (server) },
                        None => span { "of the program itself" },
                    }
                    span aria-hidden="true" { "/" }
                }
                h1.mono { (line(view.name())) }
                div.row {
                    span class=(format!("state {}", tone.class())) { (word) }
                    (policy_chip(view.policy(), view.asks_if_possible()))
                    (hint_chips(view.annotations()))
                    span.chip { (line(view.category())) }
                    span.chip.num { (thousands(view.tokens())) " tokens" }
                }
                p.small.faint { "Models call it " code { (told.name) } " · "
                    button.link type="button" data-copy-text=(told.name) { "Copy name" } }
            }
        }
    }
}

fn notices(view: &ToolView<'_>, told: &Description) -> Markup {
    html! {
        @if let Some(why) = &told.deprecated {
            div.callout.warn { strong { "Deprecated" } span { (line(why)) } }
        }
        @if let Some(note) = &told.note {
            div.callout.warn { strong { "Look-alike name" } span { (line(note)) } }
        }
        @if !view.enabled() {
            div.callout.warn { strong { "Not offered" } span { "It is neither listed, found nor callable: its server or a policy switches it off." } }
        }
    }
}

fn description(told: &Description) -> Markup {
    html! {
        section.card aria-labelledby="about-title" {
            header { h2 id="about-title" { @match &told.title { Some(title) => (line(title)), None => "Description" } } p { "as its server says" } }
            div.body { p.pre-line { (UntrustedText::block(&told.description).shortened(8_000)) } }
        }
    }
}

fn parameters(parameters: &[Parameter]) -> Markup {
    html! {
        section.card aria-labelledby="parameters-title" {
            header { h2 id="parameters-title" { "Parameters" } p { (parameters.len()) } }
            @if parameters.is_empty() {
                div.body { p.muted { "It takes no arguments, or does not say which." } }
            } @else {
                table {
                    caption.visually-hidden { "Parameters" }
                    thead { tr { th scope="col" { "Name" } th scope="col" { "What it takes" } } }
                    tbody { @for parameter in parameters { (parameter_row(parameter)) } }
                }
            }
        }
    }
}

fn parameter_row(parameter: &Parameter) -> Markup {
    let about = html! {
        @if let Some(text) = &parameter.description { span.pre-line { (block(text)) } }
        @if let Some(choices) = &parameter.choices {
            div.words { @for choice in choices.iter().take(40) { code { (line(&told(choice))) } }
                @if choices.len() > 40 { span.small.faint { "and " (choices.len() - 40) " more" } } }
        }
        @if let Some(default) = &parameter.default { div.small.faint { "default " code { (line(&default.to_string())) } } }
    };
    html! {
        tr {
            th.key-cell scope="row" {
                code { (line(&parameter.name)) }
                @if parameter.required { span.sub { "required" } }
            }
            td { div.stack-tight { code.muted { (line(&parameter.kind)) } (about) } }
        }
    }
}

/// A value that is listed: texts without their quotes, which would only be in the way.
fn told(value: &serde_json::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn examples(told: &Description) -> Markup {
    html! {
        @if !told.examples.is_empty() {
            section.card aria-labelledby="examples-title" {
                header { h2 id="examples-title" { "Examples" } }
                div.body.stack { @for example in &told.examples {
                    @let text = serde_json::to_string_pretty(&example.arguments).unwrap_or_default();
                    div.stack-tight {
                        @if let Some(about) = &example.description { span { (line(about)) } }
                        (code(&text))
                        @if let Some(expected) = &example.expected_output {
                            span { "Expected output" }
                            (code(&serde_json::to_string_pretty(expected).unwrap_or_default()))
                        }
                        div { button.slim type="button" data-use-example=(text) { "Use in the form" } }
                    }
                } }
            }
        }
    }
}

fn definition(view: &ToolView<'_>) -> Markup {
    html! {
        section.card aria-labelledby="raw-title" {
            header { h2 id="raw-title" { "Raw definition" } p { "as the server wrote it, with white space added" } }
            div.body { details { summary { "Show" } (code(&pretty(view.definition()))) } }
        }
    }
}

/// The form is made by the page's script from the schema; without it there is the JSON editor.
fn try_form(view: &ToolView<'_>, told: &Description) -> Markup {
    let schema = view.input_schema();
    let schema = if schema.len() <= FORM_SCHEMA_BYTES {
        schema
    } else {
        "{}"
    };
    let example = told
        .examples
        .first()
        .map(|example| example.arguments.to_string());
    html! {
        section.card id="try" aria-labelledby="try-title" data-tool=(told.name) data-schema=(schema)
            data-example=(example.as_deref().unwrap_or("{}")) {
            header {
                h2 id="try-title" { "Try it" }
                div.tabs role="group" aria-label="How to write the arguments" {
                    button type="button" data-mode="form" aria-pressed="true" { "Form" }
                    button type="button" data-mode="json" aria-pressed="false" { "JSON" }
                }
            }
            form.body.stack id="try-form" novalidate {
                div.stack data-part="form" {}
                div.field data-part="json" hidden {
                    label for="try-json" { "Arguments as JSON" }
                    textarea.mono id="try-json" rows="10" spellcheck="false" { "{}" }
                }
                div.row {
                    button.primary type="submit" disabled[!view.enabled()] { "Run" }
                    @if view.annotations().destructive == Some(true) { span.small.fault { "Its server says that it may destroy something." } }
                    @else { span.small.faint { "It really runs: its server is started." } }
                }
            }
            div.body.stack id="try-result" aria-live="polite" hidden {}
        }
    }
}

fn policy(pages: &Pages, view: &ToolView<'_>, request: &PageRequest) -> Markup {
    let weighed = pages.hub().explain_policy(view.exposed().as_str()).ok();
    let server = view.server().map(ServerName::as_str).unwrap_or_default();
    let own = view
        .entry()
        .and_then(|entry| entry.spec.policies.get(view.name()));
    html! {
        section.card aria-labelledby="policy-title" {
            header { h2 id="policy-title" { "Policy" } (policy_chip(view.policy(), view.asks_if_possible())) }
            div.body.stack {
                @if let Some((_, weighed)) = &weighed {
                    p { "Decided by " code.wrap { (line(&weighed.decision.rule)) } }
                    @if weighed.rules.len() > 1 {
                        details { summary { "Rules that lost" }
                            ul.stack-tight.small { @for rule in &weighed.rules {
                                @if let Some(why) = &rule.lost_because {
                                    li { (policy_chip(rule.policy, false)) " " code { (line(&rule.rule)) } " " span.faint { (line(why)) } }
                                }
                            } }
                        }
                    }
                }
                div.row.between {
                    label for="tool-policy" { "For this tool" }
                    select id="tool-policy" data-policy=(server) data-pattern=(view.name()) disabled[!request.viewer.is_admin()] {
                        option value="" selected[own.is_none()] { "no rule of its own" }
                        @for policy in POLICIES { option value=(policy.as_str()) selected[own == Some(&policy)] { (policy.as_str()) } }
                    }
                }
            }
        }
    }
}

fn related(told: &Description) -> Markup {
    html! {
        @if !told.related.is_empty() {
            section.card aria-labelledby="related-title" {
                header { h2 id="related-title" { "Related" } }
                ul.list { @for name in told.related.iter().take(10) {
                    li { a.mono.wrap href=(format!("/tools/{}", escaped(name))) { (line(name)) } }
                } }
            }
        }
    }
}

async fn unknown(pages: &Pages, error: &ToolError, request: &PageRequest) -> Response {
    let is_unknown = error.reason == Reason::ToolUnknown;
    let head = html! { div.page-head { div.titles { h1 { "No such tool" } } } };
    let body = html! {
        div.card {
            (empty(&line(&error.message), "", &html! {}))
            div.body { p { (inline_code(&error.remedy)) }
                @if !error.nearest.is_empty() { ul.list { @for name in &error.nearest { li { a.mono href=(format!("/tools/{}", escaped(name))) { (line(name)) } } } } }
                a href="/tools" { "All tools" }
            }
        }
    };
    let mut page = Page::new(Section::Tools, "No such tool", head, body);
    page.status = if is_unknown {
        StatusCode::NOT_FOUND
    } else {
        StatusCode::BAD_REQUEST
    };
    page.answer(pages, request).await
}
