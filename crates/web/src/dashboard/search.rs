//! *Search*: what a model would find for a query, and why.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::{Hit, ScoreExplanation, SearchResults, SemanticCoverage, ToolSearch};
use pegboard_search::{MatchKind, NameMatchKind};

use super::Pages;
use super::components::{bar, empty};
use super::display::{count, line, thousands};
use super::icons::{Icon, icon};
use super::page::{Page, Section, heading};
use super::request::{PageRequest, escaped};
use super::status::policy_chip;

/// Number of hits shown.
const HITS: usize = 20;
/// Largest length of a query.
const MAX_QUERY_CHARS: usize = 500;

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let text: String = request
        .query("q")
        .unwrap_or_default()
        .chars()
        .take(MAX_QUERY_CHARS)
        .collect();
    let catalog = pages.hub().catalog();
    let has_tools = catalog.tools().next().is_some();
    let finder = pages.hub().finder(None).explaining();
    // Encoding a query takes milliseconds of CPU time, so it must not block other requests.
    let searching = {
        let (catalog, text) = (catalog.clone(), text.clone());
        tokio::task::spawn_blocking(move || {
            let found = finder.find(&catalog, &text, HITS);
            let misses = finder.misses_meaning(&catalog, &found);
            results(&text, &found, misses)
        })
    };
    let list = match (text.is_empty(), has_tools) {
        (_, false) => empty(
            "No tools are known yet",
            "Add a server first, then search for what you need.",
            &html! {
                a.button.primary href="/add-server" { "Add a server" }
            },
        ),
        (true, _) => hints(),
        _ => searching
            .await
            .unwrap_or_else(|_| empty("The search failed", "Try another query.", &html! {})),
    };
    let head = heading(
        "Search",
        "Describe a task, as a model would. Each hit shows how likely it is right, and why.",
    );
    let body = html! {
        form.filters role="search" action="/search" data-filter="results" {
            div.find {
                input type="search" name="q" value=(line(&text)) placeholder="for example: count the words of a text" aria-label="Query" autocomplete="off" data-slash autofocus[text.is_empty()];
                (icon(Icon::Search))
                kbd aria-hidden="true" { "/" }
            }
            noscript { button type="submit" { "Search" } }
        }
        div id="results" data-live="catalog" { (list) }
    };
    Page::new(Section::Search, "Search", head, body)
        .render(&pages, &request)
        .await
}

fn hints() -> Markup {
    html! {
        div.card { (empty("What do you want to do?", "Use words, a tool name, or both. Typos and synonyms are understood.", &html! {})) }
    }
}

fn results(query: &str, found: &SearchResults<'_>, misses_meaning: bool) -> Markup {
    if found.hits.is_empty() {
        return html! {
            div.card { (empty("No matches", "No tool matches this query. Rephrase it, or browse all tools.", &html! {
                a.button href="/tools" { "All tools" }
            })) }
        };
    }
    let way = match found.by_meaning {
        SemanticCoverage::All => "by words and by meaning",
        SemanticCoverage::Some => "by words, and partly by meaning",
        SemanticCoverage::None => "by words",
    };
    html! {
        div.stack {
            p.small.muted {
                (count(found.total, "tool")) " found " (way) "."
                @if misses_meaning { " Indexing is in progress; search again in a moment." }
                @if let Some(server) = found.server { " The query names the server " a href=(format!("/servers/{}", server.name())) { (server.name()) } "." }
            }
            @if !found.has_good_match() { p role="status" { "No good match; these tools are the nearest." } }
            (legend())
            ol.card.list data-keys { @for (at, hit) in found.hits.iter().enumerate() { (row(at + 1, query, hit)) } }
        }
    }
}

fn legend() -> Markup {
    let parts = [
        ("p1", "name"),
        ("p2", "words"),
        ("p3", "meaning"),
        ("p4", "coverage"),
        ("p5", "server"),
        ("p6", "memory"),
    ];
    html! { div.legend { @for (class, label) in parts { span { span class=(format!("key {class}")) {} (label) } } } }
}

fn row(rank: usize, query: &str, hit: &Hit<'_>) -> Markup {
    let view = &hit.tool;
    html! {
        li.pick {
            span.num.faint { (rank) }
            div.grow.stack-tight {
                div.row.between {
                    a.name-link.mono href=(format!("/tools/{}", escaped(view.exposed().as_str()))) {
                        @if let Some(server) = view.server() { span.prefix { (server) "/" } wbr; }
                        (line(view.name()))
                    }
                    span.row.small { span.faint.num { (thousands(view.tokens())) " tokens" } (policy_chip(view.policy(), view.asks_if_possible())) span.num title="How likely this tool is right, if it is the first" { (format!("{:.0} %", 100.0 * hit.confidence)) } }
                }
                span.muted.wrap { (line(view.summary())) }
                @if let Some(why) = &hit.why { (explanation(why)) }
                @if view.server().is_some() { div.row { (teach_button(query, view.exposed().as_str())) } }
            }
        }
    }
}

/// Remembers that the query means this tool.
fn teach_button(query: &str, tool: &str) -> Markup {
    let body = serde_json::json!({"query": query, "tool": tool});
    html! {
        button.slim type="button" data-call="POST /api/v1/search/teach" data-body=(body.to_string()) data-done="Later searches like this one prefer it"
            data-admin aria-label=(format!("{} was the right one", line(tool))) { "This was the right one" }
    }
}

/// The score of a tool that matches in every way except by name and history. Every bar has this length, so that bars of
/// different searches can be compared.
const FULL_SCORE: f64 = 1.1;

fn explanation(why: &ScoreExplanation) -> Markup {
    let name = why.name.as_ref().map_or(0.0, |name| name.score);
    let part = |value: f32| f64::from(value.max(0.0)).min(FULL_SCORE);
    let mut parts = vec![
        ("p1", part(name)),
        ("p2", part(why.words)),
        ("p3", part(why.meaning)),
        ("p4", part(why.coverage)),
        ("p5", part(why.server)),
        ("p6", part(why.memory)),
    ];
    let sum: f64 = parts.iter().map(|(_, part)| part).sum();
    // What is missing to a full score stays empty.
    parts.push(("none", (FULL_SCORE - sum).max(0.0)));
    html! {
        (bar("Parts of the score", &parts))
        details.small {
            summary { "Why: " (reasons(why)) }
            dl.facts {
                @if let Some(name) = &why.name {
                    dt { "name" } dd { (match name.kind {
                        NameMatchKind::Exact => "the query is its name".to_owned(),
                        NameMatchKind::Prefix => "its name starts with the query".to_owned(),
                        NameMatchKind::Typo(typos) => format!("its name, except for {}", count(usize::from(typos), "typo")),
                    }) " " (figure(name.score)) }
                }
                @if !why.matched.is_empty() {
                    dt { "words" } dd { ul.stack-tight { @for word in why.matched.iter().take(20) {
                        li {
                            code { (line(&word.word)) }
                            @match word.via {
                                MatchKind::Same => " matches ",
                                MatchKind::Joined => " joined, matches ",
                                MatchKind::Synonym => " is a synonym of ",
                                MatchKind::Typo => " with a typo, matches ",
                            }
                            code { (line(&word.term_text)) }
                            " in its " (word.fields.iter().map(|field| field.as_str()).collect::<Vec<_>>().join(", "))
                            " " (figure(word.weight))
                        }
                    } } }
                }
                @if why.coverage != 0.0 { dt { "coverage" } dd { "how much of its name the words cover " (figure(why.coverage)) } }
                @if why.meaning != 0.0 { dt { "meaning" } dd {
                    "similarity of the query to its description " (figure(why.meaning))
                    @if let Some((document, short)) = why.cosines { span.faint { " · cosine " (format!("{document:.2}")) " with its text, " (format!("{short:.2}")) " with its name" } }
                } }
                @if why.server != 0.0 { dt { "server" } dd { "similarity of its server to the query " (figure(why.server)) } }
                @if why.action > 0.0 { dt { "verb" } dd { "its name says what the query asks for " (figure(why.action)) } }
                @if why.action < 0.0 { dt { "verb" } dd { "its name says the opposite of what the query asks for " (figure(why.action)) } }
                @if why.memory != 0.0 { dt { "memory" } dd { "similar queries led to it before, or it has such an alias " (figure(why.memory)) } }
            }
        }
    }
}

/// The largest parts of the score, in short.
fn reasons(why: &ScoreExplanation) -> String {
    let words: Vec<String> = why
        .matched
        .iter()
        .take(3)
        .map(|word| format!("“{}”", line(&word.word)))
        .collect();
    let name = why.name.as_ref().map_or(0.0, |name| name.score);
    let mut parts = vec![
        (name, "its name".to_owned()),
        (
            why.words,
            if words.is_empty() {
                "words".to_owned()
            } else {
                format!("the words {}", words.join(", "))
            },
        ),
        (why.meaning, "its meaning".to_owned()),
        (why.server, "its server".to_owned()),
        (why.memory, "past searches".to_owned()),
    ];
    parts.retain(|(weight, _)| *weight > 0.0);
    parts.sort_by(|one, other| other.0.total_cmp(&one.0));
    let reasons: Vec<String> = parts
        .into_iter()
        .map(|(_, reason)| reason)
        .take(3)
        .collect();
    reasons.join(", ")
}

fn figure(value: f32) -> Markup {
    html! { span.num.faint { (format!("{value:+.2}")) } }
}
