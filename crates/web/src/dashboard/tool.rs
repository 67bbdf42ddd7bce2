//! One tool: parameters, policy, formats, and a form to try it.

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

/// Largest schema for which a form is generated; otherwise only the JSON editor is available.
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
    let details = describe(&view);
    let body = html! {
        div.stack {
            div id="notices" data-live="catalog" { (notices(&view, &details)) }
            div.two-one {
                div.stack {
                    (description(&details))
                    div id="parameters" data-live="catalog" { (parameters(&details.parameters)) }
                    (examples(&details))
                }
                div.stack {
                    (try_form(&view, &details))
                    div id="policy" data-live="catalog" { (policy(&pages, &view, &request)) }
                    (related(&details))
                }
            }
            (formats(&view, request.query("format")))
            (definition(&view))
        }
    };
    let page = Page::new(
        Section::Tools,
        details.name.clone(),
        head(&view, &details),
        body,
    );
    page.render(&pages, &request).await
}

fn head(view: &ToolView<'_>, details: &Description) -> Markup {
    let (label, tone) = tool_status(view);
    html! {
        div.page-head id="head" data-live="catalog" {
            div.titles.stack-tight {
                nav.crumbs aria-label="Where this is" {
                    a href="/tools" { "Tools" } span aria-hidden="true" { "/" }
                    @match view.server() {
                        Some(server) => a href=(format!("/servers/{server}")) { (server) },
                        None => span { "host program" },
                    }
                    span aria-hidden="true" { "/" }
                }
                h1.mono { (line(view.name())) }
                div.row {
                    span class=(format!("state {}", tone.class())) { (label) }
                    (policy_chip(view.policy(), view.asks_if_possible()))
                    (hint_chips(view.annotations()))
                    span.chip { (line(view.category())) }
                    span.chip.num { (thousands(view.tokens())) " tokens" }
                }
                p.small.faint { "Exposed as " code { (details.name) } " · "
                    button.link type="button" data-copy-text=(details.name) { "Copy name" } }
            }
        }
    }
}

fn notices(view: &ToolView<'_>, details: &Description) -> Markup {
    html! {
        @if let Some(why) = &details.deprecated {
            div.callout.warn { strong { "Deprecated" } span { (line(why)) } }
        }
        @if let Some(note) = &details.note {
            @if view.review().is_some() {
                div.callout.warn { strong { "Review" } span { "This version " (line(note)) "." } a href="/review" { "Review" } }
            } @else {
                div.callout.warn { strong { "Look-alike name" } span { (line(note)) } }
            }
        }
        @if !view.enabled() && !view.is_held() {
            div.callout.warn { strong { "Not offered" } span { "It is not listed, found or callable: its server or a policy disables it." } }
        }
    }
}

fn description(details: &Description) -> Markup {
    html! {
        section.card aria-labelledby="about-title" {
            header { h2 id="about-title" { @match &details.title { Some(title) => (line(title)), None => "Description" } } p { "written by the server" } }
            div.body { p.pre-line { (UntrustedText::block(&details.description).shortened(8_000)) } }
        }
    }
}

fn parameters(parameters: &[Parameter]) -> Markup {
    html! {
        section.card aria-labelledby="parameters-title" {
            header { h2 id="parameters-title" { "Parameters" } p { (parameters.len()) } }
            @if parameters.is_empty() {
                div.body { p.muted { "It has no documented parameters." } }
            } @else {
                table {
                    caption.visually-hidden { "Parameters" }
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Type and description" } } }
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
            div.words { @for choice in choices.iter().take(40) { code { (line(&choice_text(choice))) } }
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

/// An allowed value; strings without quotes.
fn choice_text(value: &serde_json::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn examples(details: &Description) -> Markup {
    html! {
        @if !details.examples.is_empty() {
            section.card aria-labelledby="examples-title" {
                header { h2 id="examples-title" { "Examples" } }
                div.body.stack { @for example in &details.examples {
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
            header { h2 id="raw-title" { "Raw definition" } p { "from the server, with white space added" } }
            div.body { details { summary { "Show" } (code(&pretty(view.definition()))) } }
        }
    }
}

/// The page's script generates the form from the schema; otherwise the JSON editor is shown.
fn try_form(view: &ToolView<'_>, details: &Description) -> Markup {
    let schema = view.input_schema();
    let schema = if schema.len() <= FORM_SCHEMA_BYTES {
        schema
    } else {
        "{}"
    };
    let example = details
        .examples
        .first()
        .map(|example| example.arguments.to_string());
    html! {
        section.card id="try" aria-labelledby="try-title" data-tool=(details.name) data-schema=(schema)
            data-example=(example.as_deref().unwrap_or("{}")) {
            header {
                h2 id="try-title" { "Try it" }
                div.tabs role="group" aria-label="Input mode" {
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
                    @if view.annotations().destructive == Some(true) { span.small.fault { "Annotated as destructive." } }
                    @else { span.small.faint { "This runs the tool and starts its server." } }
                }
            }
            div.body.stack id="try-result" aria-live="polite" hidden {}
        }
    }
}

fn policy(pages: &Pages, view: &ToolView<'_>, request: &PageRequest) -> Markup {
    let explained = pages.hub().explain_policy(view.exposed().as_str()).ok();
    let server = view.server().map(ServerName::as_str).unwrap_or_default();
    let own = view
        .entry()
        .and_then(|entry| entry.spec.policies.get(view.name()));
    html! {
        section.card aria-labelledby="policy-title" {
            header { h2 id="policy-title" { "Policy" } (policy_chip(view.policy(), view.asks_if_possible())) }
            div.body.stack {
                @if let Some((_, explained)) = &explained {
                    p { "Decided by " code.wrap { (line(&explained.decision.rule)) } }
                    @if explained.rules.len() > 1 {
                        details { summary { "Rules that lost" }
                            ul.stack-tight.small { @for rule in &explained.rules {
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

fn related(details: &Description) -> Markup {
    html! {
        @if !details.related.is_empty() {
            section.card aria-labelledby="related-title" {
                header { h2 id="related-title" { "Related" } }
                ul.list { @for name in details.related.iter().take(10) {
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
    page.render(pages, request).await
}
