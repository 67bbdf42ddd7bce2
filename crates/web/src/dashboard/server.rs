//! One server: status, facts, tools, policy, configuration and log.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use pegboard_catalog::ServerEntry;
use pegboard_config::TrustReview;
use pegboard_model::{DiscoveryStatus, LoginState, ServerName, ShareScope, TrustState};
use pegboard_upstream::sandbox_facts;

use super::Pages;
use super::components::{empty, failure};
use super::display::{Ago, line, thousands};
use super::icons::{Icon, icon};
use super::page::{Page, Section};
use super::request::PageRequest;
use super::server_cards::{
    configuration, instructions, last_discovery, logs, policies, rejected, tools,
};
use super::servers::enable_button;
use super::status::ServerStatus;
use super::trust;
use crate::config_admin::LoginAttempt;

pub(super) async fn show(
    State(pages): State<Pages>,
    Path(server): Path<String>,
    request: PageRequest,
) -> Response {
    let catalog = pages.hub().catalog();
    let name = ServerName::parse(&server).ok();
    let Some(entry) = name.as_ref().and_then(|name| catalog.server(name)) else {
        return unknown(&pages, &server, &request).await;
    };
    let name = entry.name();
    let health = pages.hub().health_of(entry);
    let status = ServerStatus::of(entry, &health);
    let review = pages.web.config_admin().review(name);
    let is_reviewed = entry.spec.trust_state != TrustState::Granted && review.is_some();
    let mut values = pages.web.config_admin().config_values(name);
    if is_reviewed {
        // The trust notice shows these values unmasked, so the masked ones are left out.
        values.retain(|(key, _)| !is_of_transport(key));
    }
    let log = pages.web.config_admin().logs(name).await;
    let now = pages.now();
    let body = html! {
        div.stack {
            div.stack id="notices" data-live="catalog" { (notices(entry, review.as_ref(), request.viewer.is_admin())) (login_notice(entry, health.login.as_ref(), pages.web.config_admin().login_attempt(name))) }
            div.two-one {
                div.stack {
                    div id="facts" data-live="catalog" { (facts(entry, &health, status, now)) }
                    div id="tools" data-live="catalog" { (tools(entry)) }
                    div id="rejected" data-live="catalog" { (rejected(entry)) }
                    (logs(name, log))
                }
                div.stack {
                    div id="delta" data-live="catalog" { (last_discovery(entry, pages.hub().last_delta(name), now)) }
                    div id="policies" data-live="catalog" data-settles { (policies(entry, &request)) }
                    div id="config" data-live="catalog" { (configuration(entry, &values)) }
                    div id="instructions" data-live="catalog" { (instructions(entry)) }
                }
            }
        }
    };
    let page = Page::new(Section::Servers, name.as_str(), head(entry, status), body);
    page.render(&pages, &request).await
}

/// Whether a configuration key is part of the transport.
fn is_of_transport(key: &str) -> bool {
    let first = key.split('.').next().unwrap_or_default();
    let keys = ["args", "bearer", "command", "cwd", "env", "headers", "url"];
    keys.contains(&first)
}

fn head(entry: &ServerEntry, status: ServerStatus) -> Markup {
    let name = entry.name();
    let description = entry.spec.description.as_deref();
    html! {
        div.page-head id="head" data-live="catalog" {
            div.titles {
                nav.crumbs aria-label="Where this is" { a href="/servers" { "Servers" } span aria-hidden="true" { "/" } }
                div.row { h1 { (name) } (status.render()) }
                @if let Some(text) = description { p.lead { (line(text)) } }
            }
            div.actions {
                button type="button" data-call=(format!("POST /api/v1/servers/{name}/refresh")) data-refresh
                    disabled[!entry.spec.enabled] { (icon(Icon::Refresh)) "Refresh" }
                (enable_button(name, entry.spec.enabled, ""))
                button.warns type="button" data-call=(format!("DELETE /api/v1/servers/{name}")) data-admin
                    data-done=(format!("`{name}` was removed")) data-next="/servers"
                    data-confirm=(format!("Remove `{name}`?"))
                    data-confirm-text="It is removed from the configuration file, and its known tools are deleted."
                    data-confirm-yes="Remove" { "Remove" }
            }
        }
    }
}

fn notices(entry: &ServerEntry, review: Option<&TrustReview>, is_admin: bool) -> Markup {
    html! {
            @if entry.spec.trust_state != TrustState::Granted { (trust::notice(entry, review, is_admin)) }
            @if let Some(note) = entry.record.last_error.as_ref().filter(|_| entry.spec.enabled) {
                @let known = entry.record.tools.len();
                (failure("The last discovery failed", note))
                @if known > 0 { p.small.muted { "Its " (thousands(known as u64)) " known tools stay in use." } }
            }
            @if !entry.spec.enabled {
                div.callout { strong { "This server is disabled" } span { "Its tools are not listed, found or callable." } }
            }
    }
}

/// What a person must do about the login, and the button for it.
fn login_notice(
    entry: &ServerEntry,
    login: Option<&LoginState>,
    attempt: Option<LoginAttempt>,
) -> Markup {
    let name = entry.name();
    let start = format!("POST /api/v1/servers/{name}/login");
    let Some(login) =
        login.filter(|_| entry.spec.enabled && entry.spec.trust_state == TrustState::Granted)
    else {
        return html! {};
    };
    let (title, text) = match login {
        LoginState::Required => (
            "Login required",
            "Log in with your browser to use this server.".to_owned(),
        ),
        LoginState::Expired { .. } => (
            "Login expired",
            "The server no longer accepts the login. Log in again; its known tools stay listed."
                .to_owned(),
        ),
        LoginState::MoreRightsNeeded { scopes, .. } => (
            "More rights needed",
            format!(
                "A call needs rights that the login does not have: {}. The other tools keep working.",
                scopes.join(", ")
            ),
        ),
        _ => return html! {},
    };
    html! {
        div.callout.warn {
            strong { (title) }
            span { (line(&text)) }
            @match attempt {
                Some(LoginAttempt::Waiting) => { span.small.muted { "A login waits for the browser." } }
                Some(LoginAttempt::Failed(error)) => { span.small { (line(&error.message)) " " (line(&error.remedy)) } }
                None => {}
            }
            div.row { button.primary type="button" data-call=(start) data-admin data-open { "Log in" } }
        }
    }
}

/// The login as a fact, with the button that ends it.
fn login_fact(entry: &ServerEntry, login: &LoginState) -> Markup {
    let name = entry.name();
    html! {
        (login.words())
        @if let LoginState::LoggedIn { account, until, renewable, scopes, issuer } = login {
            @if let Some(account) = account { " as " (line(account)) }
            @if let Some(until) = until { " until " time datetime=(until.0) data-time=(until.0) { (timestamp(*until)) } }
            @if *renewable { span.faint { " · renewed automatically" } }
            @if !scopes.is_empty() { span.faint { " · " (line(&scopes.join(" "))) } }
            span.faint { " · at " (line(issuer)) }
            " "
            button.small type="button" data-call=(format!("DELETE /api/v1/servers/{name}/login")) data-admin
                data-done=(format!("Logged out of `{name}`")) data-confirm=(format!("Log out of `{name}`?"))
                data-confirm-text="Its tokens are revoked and removed. Its known tools stay listed."
                data-confirm-yes="Log out" { "Log out" }
        }
    }
}

/// A time for display.
fn timestamp(time: pegboard_model::Timestamp) -> String {
    let time = i64::try_from(time.0).ok();
    let time = time.and_then(|time| jiff::Timestamp::from_millisecond(time).ok());
    time.map(|time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
        .unwrap_or_default()
}

fn facts(
    entry: &ServerEntry,
    health: &pegboard_hub::ServerHealth,
    status: ServerStatus,
    now: pegboard_model::Timestamp,
) -> Markup {
    let record = &entry.record;
    let tokens: u64 = record.tools.iter().map(|tool| u64::from(tool.tokens)).sum();
    let era = record.era.map(|era| match era {
        pegboard_model::Era::Legacy => "legacy",
        pegboard_model::Era::Modern => "modern",
    });
    html! {
        section.card aria-labelledby="facts-title" {
            header { h2 id="facts-title" { "At a glance" } }
            div.body { dl.facts {
                dt { "State" } dd { (status.render()) }
                dt { "Discovery" } dd {
                    (entry.status().as_str())
                    @if entry.stale {
                        @match entry.status() {
                            DiscoveryStatus::Failed => { " " span.chip.warn { "stale" } }
                            _ => { " " span.chip { "cached" } }
                        }
                    }
                    span.faint { " · last success " (Ago { now, then: record.discovered_at }) }
                    @if record.attempted_at != record.discovered_at {
                        span.faint { " · last attempt " (Ago { now, then: record.attempted_at }) }
                    }
                }
                @if let Some(login) = &health.login { dt { "Login" } dd { (login_fact(entry, login)) } }
                @let sharing = entry.sharing();
                dt { "Shared by" } dd {
                    @match sharing.scope {
                        ShareScope::User => "all your clients",
                        ShareScope::Project => "the clients of a project",
                        ShareScope::Session => "no one: each session has its own",
                    }
                    span.faint { " · " (line(&sharing.reason)) }
                }
                @let sandbox = sandbox_facts(&entry.spec.sandbox);
                @if !entry.spec.sandbox.is_off() && entry.spec.transport.kind() == "stdio" {
                    dt { "Sandbox" } dd {
                        (sandbox.mode.as_str())
                        span.faint { " · " (line(&sandbox.in_force.join(", "))) }
                        @for missing in &sandbox.missing { " " span.chip.warn { "not in force: " (line(missing)) } }
                    }
                }
                dt { "Tools" } dd.num { (thousands(record.tools.len() as u64)) span.faint { " · " (thousands(tokens)) " tokens if listed in full" } }
                @let offers = &record.offers;
                @if offers.prompts.len() + offers.resources.len() + offers.templates.len() > 0 {
                    dt { "Also offers" } dd.num {
                        (offers.prompts.len()) " prompts, " (offers.resources.len()) " resources, " (offers.templates.len()) " templates"
                    }
                }
                @if let Some(info) = &record.info {
                    dt { "Server info" } dd { (line(&info.name)) " " span.faint { (line(&info.version)) } }
                }
                @if let Some(version) = &record.protocol_version {
                    dt { "Protocol" } dd { code { (line(version)) } @if let Some(era) = era { span.faint { " · " (era) } } }
                }
                @if health.failures > 0 {
                    dt { "Consecutive failures" } dd.num { (health.failures) }
                }
            } }
        }
    }
}

async fn unknown(pages: &Pages, server: &str, request: &PageRequest) -> Response {
    let head = html! { div.page-head { div.titles { h1 { "No such server" } } } };
    let text = format!(
        "No server `{}` is configured; it may have been removed.",
        line(server)
    );
    let body = html! { div.card { (empty("Not found", &text, &html! {
        a.button href="/servers" { "All servers" }
        a.button.primary href="/add-server" { "Add a server" }
    })) } };
    let mut page = Page::new(Section::Servers, "No such server", head, body);
    page.status = StatusCode::NOT_FOUND;
    page.render(pages, request).await
}
