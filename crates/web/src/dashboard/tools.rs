//! *Tools*: all known tools, filtered while typing, in pages.

use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::{Catalog, ToolView};
use pegboard_model::Policy;

use super::Pages;
use super::components::{Pager, clamp_page, empty};
use super::display::{line, thousands};
use super::icons::{Icon, icon};
use super::page::{Page, Section, heading};
use super::request::{PageRequest, escaped, query_string};
use super::server_cards::POLICIES;
use super::status::{policy_chip, tool_status};

/// Page size.
const ROWS: usize = 50;
/// Largest number of servers and categories in a filter.
const CHOICES: usize = 500;
/// Largest number of words in a filter.
const WORDS: usize = 8;

/// Includes tools that are not offered.
const EVERY_STATE: &str = "all";
/// The filters by status; by default only offered tools are shown.
const STATES: [&str; 5] = [
    EVERY_STATE,
    "not offered",
    "deprecated",
    "look-alike name",
    "server failed",
];

/// The filter of the list.
struct Filter<'a> {
    text: &'a str,
    words: Vec<String>,
    server: &'a str,
    category: &'a str,
    policy: Option<Policy>,
    state: &'a str,
    by_tokens: bool,
}

impl<'a> Filter<'a> {
    fn of(request: &'a PageRequest) -> Self {
        let text = request.query("q").unwrap_or_default();
        let policy = request.query("policy");
        Self {
            text,
            words: text
                .split_whitespace()
                .take(WORDS)
                .map(str::to_lowercase)
                .collect(),
            server: request.query("server").unwrap_or_default(),
            category: request.query("category").unwrap_or_default(),
            policy: POLICIES
                .into_iter()
                .find(|known| Some(known.as_str()) == policy),
            state: request.query("state").unwrap_or_default(),
            by_tokens: request.query("sort") == Some("tokens"),
        }
    }

    fn accepts(&self, view: &ToolView<'_>) -> bool {
        let is_of_server = match self.server {
            "" => true,
            server => view.server().is_some_and(|name| name.as_str() == server),
        };
        is_of_server
            && self.policy.is_none_or(|policy| view.policy() == policy)
            && match self.state {
                "" => view.enabled() || view.is_held(),
                EVERY_STATE => true,
                state => tool_status(view).0 == state,
            }
            && self.words.iter().all(|word| matches_word(view, word))
            && (self.category.is_empty() || view.category() == self.category)
    }

    fn values(&self) -> [(&'static str, &str); 6] {
        [
            ("q", self.text),
            ("server", self.server),
            ("category", self.category),
            ("policy", self.policy.map_or("", Policy::as_str)),
            ("state", self.state),
            ("sort", if self.by_tokens { "tokens" } else { "" }),
        ]
    }
}

fn matches_word(view: &ToolView<'_>, word: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(word);
    has(view.exposed().as_str()) || has(view.name()) || has(view.summary())
}

pub(super) async fn show(State(pages): State<Pages>, request: PageRequest) -> Response {
    let catalog = pages.hub().catalog();
    let filter = Filter::of(&request);
    let mut chosen: Vec<ToolView<'_>> = catalog
        .all_tools()
        .filter(|view| filter.accepts(view))
        .collect();
    if filter.by_tokens {
        chosen.sort_by_key(|view| std::cmp::Reverse(view.tokens()));
    }
    let page = clamp_page(request.page(), ROWS, chosen.len());
    let shown = chosen.get((page - 1) * ROWS..).unwrap_or_default();
    let shown = shown.get(..ROWS.min(shown.len())).unwrap_or_default();
    let is_empty = catalog.all_tools().next().is_none();
    let list = html! {
        div.card id="list" data-live="catalog" {
            @if is_empty {
                (empty("No tools are known yet", "Add a server, or refresh the existing ones.", &html! {
                    a.button.primary href="/add-server" { (icon(Icon::Plus)) "Add a server" }
                    a.button href="/servers" { "Servers" }
                }))
            } @else if shown.is_empty() {
                (empty("No tool matches", "The filter matches names and summaries. Search also finds tools by meaning.", &html! {
                    a.button href="/tools" { "Clear the filter" }
                    a.button.primary href=(format!("/search{}", query_string(&[("q", filter.text)]))) { "Search instead" }
                }))
            } @else {
                (table(shown, &filter))
                (Pager { path: "/tools", values: &filter.values(), page, size: ROWS, total: chosen.len(), noun: "tools" }.render())
            }
        }
    };
    let head = heading("Tools", "All tools of all servers, with their policies.");
    let body = html! { (controls(&catalog, &filter)) (list) };
    Page::new(Section::Tools, "Tools", head, body)
        .render(&pages, &request)
        .await
}

fn controls(catalog: &Catalog, filter: &Filter<'_>) -> Markup {
    let categories: BTreeSet<&str> = catalog.all_tools().map(|view| view.category()).collect();
    html! {
        form.filters role="search" action="/tools" data-filter="list" {
            div.find {
                input type="search" name="q" value=(filter.text) placeholder="Filter tools by name or summary" aria-label="Filter tools" autocomplete="off" data-slash;
                (icon(Icon::Search))
                kbd aria-hidden="true" { "/" }
            }
            select name="server" aria-label="Server" {
                option value="" { "All servers" }
                @for entry in catalog.servers().take(CHOICES) {
                    option value=(entry.name()) selected[entry.name().as_str() == filter.server] { (entry.name()) }
                }
            }
            select name="category" aria-label="Category" {
                option value="" { "All categories" }
                @for category in categories.into_iter().take(CHOICES) {
                    option value=(line(category)) selected[category == filter.category] { (line(category)) }
                }
            }
            select name="policy" aria-label="Policy" {
                option value="" { "All policies" }
                @for policy in POLICIES { option value=(policy.as_str()) selected[filter.policy == Some(policy)] { (policy.as_str()) } }
            }
            select name="state" aria-label="Status" {
                option value="" { "Offered" }
                @for state in STATES { option value=(state) selected[state == filter.state] { @if state == EVERY_STATE { "All statuses" } @else { (state) } } }
            }
            @if filter.by_tokens { input type="hidden" name="sort" value="tokens"; }
            noscript { button type="submit" { "Filter" } }
        }
    }
}

fn table(shown: &[ToolView<'_>], filter: &Filter<'_>) -> Markup {
    let sorted = |sort: &'static str| {
        let mut values = filter.values();
        if let Some(last) = values.last_mut() {
            *last = ("sort", sort);
        }
        format!("/tools{}", query_string(&values))
    };
    let order = |is_sorted: bool, direction: &'static str| is_sorted.then_some(direction);
    html! {
        table data-keys {
            caption.visually-hidden { "Tools" }
            thead { tr {
                th scope="col" aria-sort=[order(!filter.by_tokens, "ascending")] { a href=(sorted("")) data-page { "Tool" } }
                th.tight.wide scope="col" { "Category" }
                th.tight scope="col" { "Policy" }
                th.tight.num.medium scope="col" aria-sort=[order(filter.by_tokens, "descending")] { a href=(sorted("tokens")) data-page { "Tokens" } }
                th.tight.medium scope="col" { "Status" }
            } }
            tbody { @for view in shown { (row(view)) } }
        }
    }
}

/// The category without the server's name, which is already shown.
fn category(view: &ToolView<'_>) -> String {
    let whole = view.category();
    let server = view.server().map_or("", |server| server.as_str());
    match whole.strip_prefix(server) {
        Some("") if !server.is_empty() => "—".to_owned(),
        Some(rest) => line(rest.trim_start_matches('/')),
        None => line(whole),
    }
}

fn row(view: &ToolView<'_>) -> Markup {
    let (label, tone) = tool_status(view);
    html! {
        tr.pick {
            th scope="row" {
                a.name-link.mono href=(format!("/tools/{}", escaped(view.exposed().as_str()))) {
                    @if let Some(server) = view.server() { span.prefix { (server) "/" } wbr; }
                    (line(view.name()))
                }
                span.sub.wrap { (line(view.summary())) }
            }
            td.tight.wide.muted { (category(view)) }
            td.tight { (policy_chip(view.policy(), view.asks_if_possible())) }
            td.tight.num.medium { (thousands(view.tokens())) }
            td.tight.medium { span class=(format!("state {}", tone.class())) { (label) } }
        }
    }
}
