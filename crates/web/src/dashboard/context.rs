//! *Context*: exactly what a model sees, with its tokens.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::Catalog;
use pegboard_gateway::fixed_surface;
use pegboard_guard::estimate_tokens;
use pegboard_metatools::context_summary;

use super::Pages;
use super::components::{bar, code};
use super::display::{count, line, pretty, thousands};
use super::page::{Page, Section, heading};
use super::request::PageRequest;

/// Largest number of servers listed separately.
const SERVERS: usize = 12;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let catalog = pages.hub().catalog();
    let summary = context_summary(&catalog, &pages.web.config_admin().essential());
    let surface = fixed_surface();
    let head = heading(
        "Context",
        "Exactly what a model sees: the summary for a system prompt, and the tools that every client gets.",
    );
    let body = html! {
        div.stack {
            div.halves {
                section.card aria-labelledby="summary-title" id="summary" data-live="catalog" {
                    header { h2 id="summary-title" { "Summary for a system prompt" } span.chip.num { (thousands(estimate_tokens(&summary))) " tokens" } }
                    div.body.stack {
                        (code(&summary))
                        p.small.faint { "Also printed by " code { "pegboard context" } ". It always stays under 500 tokens." }
                    }
                }
                (meta_tools(&surface))
            }
            div id="costs" data-live="catalog" { (costs(&catalog, estimate_tokens(&surface))) }
        }
    };
    Page::new(Section::Context, "Context", head, body)
        .render(&pages, &request)
        .await
}

fn meta_tools(surface: &str) -> Markup {
    let (tools, instructions) = surface.rsplit_once('\n').unwrap_or((surface, ""));
    let tools: Vec<Box<serde_json::value::RawValue>> =
        serde_json::from_str(tools).unwrap_or_default();
    html! {
        section.card aria-labelledby="surface-title" {
            header { h2 id="surface-title" { "What every client gets" } span.chip.num { (thousands(estimate_tokens(surface))) " tokens" } }
            div.body.stack-tight {
                h3 { "Instructions " span.chip.num { (thousands(estimate_tokens(instructions))) } }
                (code(instructions))
            }
            @for tool in &tools {
                @let name = name(tool.get());
                div.body.stack-tight {
                    h3 { code { (line(&name)) } " " span.chip.num { (thousands(estimate_tokens(tool.get()))) } }
                    details { summary { "Definition" } (code(&pretty(tool.get()))) }
                }
            }
            footer.faint { "It contains no server names or counts, so adding a server keeps a client's prompt cache valid." }
        }
    }
}

fn name(definition: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(definition).ok();
    let name = value.as_ref().and_then(|value| value.get("name")?.as_str());
    name.unwrap_or("unnamed").to_owned()
}

fn costs(catalog: &Catalog, surface: u32) -> Markup {
    let mut servers: Vec<(String, usize, u64)> = catalog
        .servers()
        .map(|entry| {
            let tokens = entry
                .visible_tools()
                .map(|tool| u64::from(tool.tokens()))
                .sum();
            (
                entry.name().to_string(),
                entry.visible_tools().count(),
                tokens,
            )
        })
        .filter(|(_, tools, _)| *tools > 0)
        .collect();
    servers.sort_by_key(|(_, _, tokens)| std::cmp::Reverse(*tokens));
    let all: u64 = servers.iter().map(|(_, _, tokens)| tokens).sum();
    let (others, rest) = servers
        .iter()
        .skip(SERVERS)
        .fold((0, 0), |(number, sum), (_, _, tokens)| {
            (number + 1, sum + tokens)
        });
    html! {
        section.card aria-labelledby="costs-title" {
            header {
                h2 id="costs-title" { "Without Pegboard" }
                p.num { (thousands(all)) " tokens of definitions in every request; with Pegboard " (thousands(surface)) }
            }
            @if servers.is_empty() {
                div.body { p.muted { "No tools are known yet. " a href="/add-server" { "Add a server" } " to see the tokens of its definitions." } }
            } @else {
                table {
                    caption.visually-hidden { "Tokens of each server's definitions" }
                    thead { tr { th scope="col" { "Server" } th.tight.num scope="col" { "Tools" } th.tight.num scope="col" { "Tokens" } th.medium.half scope="col" { "Share" } } }
                    tbody {
                        @for (name, tools, tokens) in servers.iter().take(SERVERS) {
                            tr {
                                th scope="row" { a.name-link href=(format!("/servers/{name}")) { (name) } }
                                td.tight.num { (thousands(*tools as u64)) }
                                td.tight.num { (thousands(*tokens)) }
                                td.medium { (bar(&format!("Share of {name}"), &[("accent", *tokens as f64), ("", all.saturating_sub(*tokens) as f64)])) }
                            }
                        }
                        @if others > 0 {
                            tr { th scope="row" { span.faint { (count(others, "other server")) } } td {} td.tight.num { (thousands(rest)) } td.medium {} }
                        }
                    }
                }
            }
        }
    }
}
