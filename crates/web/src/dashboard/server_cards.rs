//! The cards of one server's screen.

use std::sync::Arc;

use maud::{Markup, html};
use pegboard_catalog::{Delta, ServerEntry};
use pegboard_config::{definition_warnings, masked_command_line};
use pegboard_hub::LastDelta;
use pegboard_model::{
    DiscoveryStatus, Origin, Policy, ServerName, Timestamp, ToolResult, Transport, TrustState,
    UntrustedText,
};

use super::components::{empty, inline_code, plain_code};
use super::display::{Ago, count, duration, line, thousands};
use super::request::{PageRequest, escaped};
use super::status::policy_chip;

/// Largest number of tools, changes and rejected tools shown.
const ROWS: usize = 20;
/// Log lines shown.
const LOG_LINES: usize = 200;

/// The selectable policies.
pub(super) const POLICIES: [Policy; 4] =
    [Policy::Allow, Policy::Ask, Policy::Deny, Policy::Disable];

pub(super) fn tools(entry: &Arc<ServerEntry>) -> Markup {
    let all = entry.record.tools.len();
    let link = format!("/tools?server={}", entry.name());
    html! {
        section.card aria-labelledby="tools-title" {
            header { h2 id="tools-title" { "Tools" } @if all > ROWS { a.small href=(link) { "All " (thousands(all as u64)) } } }
            @if all == 0 {
                (empty("No tools are known", "They are discovered when first needed, or now with Refresh.", &html! {}))
            } @else {
                table data-keys {
                    caption.visually-hidden { "Tools of this server" }
                    thead { tr {
                        th scope="col" { "Tool" }
                        th.tight scope="col" { "Policy" }
                        th.tight.num scope="col" { "Tokens" }
                    } }
                    tbody { @for tool in entry.all_tools().take(ROWS) {
                        tr.pick {
                            th scope="row" {
                                a.name-link.mono href=(format!("/tools/{}", escaped(tool.exposed().as_str()))) { (line(tool.name())) }
                                span.sub { (line(tool.summary())) }
                            }
                            td.tight { (policy_chip(tool.policy(), tool.asks_if_possible())) }
                            td.tight.num { (thousands(tool.tokens())) }
                        }
                    } }
                }
                @if all > ROWS { footer { a href=(link) { "All " (thousands(all as u64)) " tools of this server" } } }
            }
        }
    }
}

pub(super) fn last_discovery(
    entry: &ServerEntry,
    last: Option<LastDelta>,
    now: Timestamp,
) -> Markup {
    html! {
        section.card aria-labelledby="delta-title" {
            header { h2 id="delta-title" { "Last discovery" } p { (Ago { now, then: entry.record.attempted_at }) } }
            div.body.stack-tight {
                @if entry.status() == DiscoveryStatus::Failed {
                    span { span.state.bad { "failed" } }
                }
                @match &last {
                    Some(last) => {
                        @let took = duration(std::time::Duration::from_millis(last.duration_ms));
                        @if entry.status() == DiscoveryStatus::Failed {
                            span.small.muted { "The last success was " (Ago { now, then: Some(last.at) }) ", in " (took) ":" }
                        } @else {
                            span { "Succeeded in " (took) "." }
                        }
                        (delta(&last.delta))
                    },
                    None if entry.record.is_known() => p.muted {
                        "It was discovered " (Ago { now, then: entry.record.discovered_at }) ", before this Pegboard started. Refresh shows what changed since."
                    },
                    None => p.muted { "Not discovered yet." },
                }
            }
        }
    }
}

/// The changes of a discovery.
fn delta(delta: &Delta) -> Markup {
    let names = |names: Vec<&str>| {
        html! {
            div.words { @for name in names.iter().take(ROWS) { code { (line(name)) } } }
            @if names.len() > ROWS { span.small.faint { "and " (thousands((names.len() - ROWS) as u64)) " more" } }
        }
    };
    html! {
        @if delta.is_empty() {
            span.muted { "No changes: " (count(delta.unchanged, "tool")) "." }
        } @else {
            @if !delta.added.is_empty() {
                span { span.chip.ok { "+" (thousands(delta.added.len() as u64)) } " new" }
                (names(delta.added.iter().map(String::as_str).collect()))
            }
            @if !delta.changed.is_empty() {
                span { span.chip.warn { "~" (thousands(delta.changed.len() as u64)) } " changed" }
                ul.stack-tight { @for tool in delta.changed.iter().take(ROWS) {
                    li.small { code { (line(&tool.name)) } span.faint { " in " (line(&tool.fields.join(", "))) } }
                } }
            }
            @if !delta.removed.is_empty() {
                span { span.chip.bad { "−" (thousands(delta.removed.len() as u64)) } " removed" }
                (names(delta.removed.iter().map(String::as_str).collect()))
            }
            span.small.faint { (count(delta.unchanged, "tool")) " unchanged" }
        }
    }
}

pub(super) fn rejected(entry: &ServerEntry) -> Markup {
    let rejections = &entry.record.rejections;
    html! {
        @if !rejections.is_empty() {
            section.card aria-labelledby="rejected-title" {
                header { h2 id="rejected-title" { "Rejected tools" } p { (thousands(rejections.len() as u64)) } }
                ul.list { @for rejection in rejections.iter().take(ROWS) {
                    li { div.stack-tight.grow {
                        span { code { (line(&rejection.tool)) } " " span.chip.warn { (rejection.reason.code()) } }
                        span.small.muted.wrap { (line(&rejection.detail)) }
                    } }
                } }
                @if rejections.len() > ROWS { footer { "and " (thousands((rejections.len() - ROWS) as u64)) " more" } }
            }
        }
    }
}

pub(super) fn policies(entry: &ServerEntry, request: &PageRequest) -> Markup {
    let name = entry.name();
    let is_admin = request.viewer.is_admin();
    html! {
        section.card aria-labelledby="policy-title" {
            header { h2 id="policy-title" { "Policy" } p { "for its tools" } }
            div.body.stack {
                div.row.between {
                    label for="server-policy" { "All tools of this server" }
                    select id="server-policy" data-policy=(name) data-pattern="" disabled[!is_admin] {
                        option value="" selected[entry.spec.policy.is_none()] { "default" }
                        @for policy in POLICIES { option value=(policy.as_str()) selected[entry.spec.policy == Some(policy)] { (policy.as_str()) } }
                    }
                }
                @if !entry.spec.policies.is_empty() {
                    table {
                        caption.visually-hidden { "Rules of this server" }
                        thead { tr { th scope="col" { "Tool or pattern" } th.tight scope="col" { "Policy" } th.tight scope="col" { span.visually-hidden { "Actions" } } } }
                        tbody { @for (pattern, policy) in &entry.spec.policies {
                            tr data-row=(pattern) {
                                td { code { (line(pattern)) } }
                                td.tight { (policy_chip(*policy, false)) }
                                td.tight { button.slim.quiet type="button" data-drop-rule=(pattern) data-server=(name) data-admin aria-label=(format!("Delete the rule for {}", line(pattern))) { "Delete" } }
                            }
                        } }
                    }
                }
                p.small.faint { "The most specific rule decides: a tool's own rule before a pattern, a pattern before this one." }
            }
        }
    }
}

pub(super) fn configuration(entry: &ServerEntry, values: &[(String, String)]) -> Markup {
    let spec = &entry.spec;
    let label = match spec.transport {
        Transport::Stdio { .. } => "Command",
        Transport::Http { .. } => "URL",
    };
    html! {
        section.card aria-labelledby="config-title" {
            header { h2 id="config-title" { "Configuration" } p { (origin(&spec.origin)) } }
            div.body.stack {
                @if spec.trust_state == TrustState::Granted {
                    div.stack-tight { span.small.faint { (label) } code.command { (masked_command_line(&spec.transport)) } }
                }
                @let warnings = definition_warnings(&spec.name, &spec.transport);
                @if !warnings.is_empty() && spec.trust_state == TrustState::Granted {
                    ul.stack-tight { @for warning in &warnings {
                        li.small { span.chip.warn { "warning" } " " code { (warning.key) } " " (inline_code(&warning.text)) }
                    } }
                }
                dl.facts.small {
                    @for (key, value) in values {
                        dt { code { (line(key)) } } dd { code { (line(value)) } }
                    }
                    dt { "TTL" } dd { (duration(spec.ttl)) }
                    dt { "discovery timeout" } dd { (duration(spec.timeouts.discovery)) }
                    dt { "call timeout" } dd { (duration(spec.timeouts.call)) }
                    dt { "idle timeout" } dd { (duration(spec.timeouts.idle)) }
                }
                p.small.faint { "Possible secrets are shown as " code { "***" } "." }
            }
        }
    }
}

fn origin(origin: &Origin) -> Markup {
    html! {
        @match (&origin.file, origin.line) {
            (Some(file), Some(at)) => span.wrap { (line(&file.display().to_string())) ":" (at) },
            (Some(file), None) => span.wrap { (line(&file.display().to_string())) },
            (None, _) => @match origin.layer {
                pegboard_model::Layer::Builtin => "for this run only",
                pegboard_model::Layer::Environment => "from an environment variable",
                _ => "from a flag",
            },
        }
    }
}

pub(super) fn instructions(entry: &ServerEntry) -> Markup {
    html! {
        @if let Some(text) = entry.record.instructions.as_deref().filter(|text| !text.trim().is_empty()) {
            section.card aria-labelledby="instructions-title" {
                header { h2 id="instructions-title" { "Instructions for models" } p { "written by the server" } }
                div.body { p.pre-line.small { (UntrustedText::block(text).shortened(4_000)) } }
            }
        }
    }
}

pub(super) fn logs(server: &ServerName, read: ToolResult<String>) -> Markup {
    html! {
        section.card.log aria-labelledby="log-title" {
            header { h2 id="log-title" { "Log" } p { "standard error" } }
            div.body id="log" data-live="catalog activity" {
                @match read {
                    Ok(text) if text.trim().is_empty() => p.muted { "Server " code { (server) } " has written nothing yet." },
                    Ok(text) => {
                        @let lines: Vec<&str> = text.lines().collect();
                        @let from = lines.len().saturating_sub(LOG_LINES);
                        (plain_code(&lines.get(from..).unwrap_or_default().join("\n")))
                    },
                    Err(error) => p.fault { (line(&error.message)) " " (inline_code(&error.remedy)) },
                }
            }
        }
    }
}
