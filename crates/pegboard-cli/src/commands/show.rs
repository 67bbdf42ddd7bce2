//! `pegboard show`: prints everything about a server.

use std::time::Duration;

use pegboard_catalog::ServerEntry;
use pegboard_config::{
    DefinitionWarning, TrustReview, command_line, definition_warnings, masked_command_line,
};
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, LoginState, Rejection, ServerRecord, TrustState, UntrustedText};
use serde::Serialize;

use super::{CommandResult, Global, Output, builder, load_config, open, reading, server_name};
use crate::format::{ago, count, duration, login_text, thousands};
use crate::output::Paint;

/// The indentation of continuation lines of a value.
const CONTINUED: &str = "\n              ";

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    transport: &'static str,
    command: String,
    variables: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<&'a TrustReview>,
    warnings: Vec<DefinitionWarning>,
    enabled: bool,
    trust_state: TrustState,
    origin: &'a pegboard_model::Origin,
    description: Option<&'a str>,
    category: Option<&'a str>,
    sharing: &'a pegboard_model::SharingDecision,
    ttl_ms: u128,
    discovery_timeout_ms: u128,
    connect_timeout_ms: u128,
    call_timeout_ms: u128,
    idle_timeout_ms: u128,
    status: pegboard_model::DiscoveryStatus,
    stale: bool,
    last_discovered: Option<u64>,
    last_attempt: Option<u64>,
    last_error: Option<&'a pegboard_model::ErrorSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<LoginState>,
    era: Option<pegboard_model::Era>,
    protocol_version: Option<&'a str>,
    server_info: Option<&'a pegboard_model::ServerInfo>,
    instructions: Option<&'a str>,
    tools: Vec<&'a str>,
    rejected: &'a [Rejection],
    tokens: usize,
}

pub(crate) fn run(server: &str, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let name = server_name(server, &configuration)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let catalog = pegboard.hub().catalog();
        let Some(entry) = catalog.server(&name) else {
            return Ok(());
        };
        let review = pegboard.configuration().loaded.reviews.get(&name);
        let login = pegboard.hub().login_state(entry);
        if output.json {
            return output.document(&document(entry, review, login));
        }
        text(entry, review, login.as_ref(), output)
    })
}

fn document<'a>(
    entry: &'a ServerEntry,
    review: Option<&'a TrustReview>,
    login: Option<LoginState>,
) -> Document<'a> {
    let (spec, record) = (&entry.spec, &entry.record);
    Document {
        name: spec.name.as_str(),
        transport: entry.transport(),
        command: masked_command_line(&spec.transport),
        variables: variables(entry),
        trust: review.filter(|review| review.trust_state != TrustState::Granted),
        warnings: definition_warnings(&spec.name, &spec.transport),
        enabled: spec.enabled,
        trust_state: spec.trust_state,
        origin: &spec.origin,
        description: spec.description.as_deref(),
        category: spec.category.as_deref(),
        sharing: entry.sharing(),
        ttl_ms: spec.ttl.as_millis(),
        discovery_timeout_ms: spec.timeouts.discovery.as_millis(),
        connect_timeout_ms: spec.timeouts.connect.as_millis(),
        call_timeout_ms: spec.timeouts.call.as_millis(),
        idle_timeout_ms: spec.timeouts.idle.as_millis(),
        status: entry.status(),
        stale: entry.stale,
        last_discovered: record.discovered_at.map(|at| at.0),
        last_attempt: record.attempted_at.map(|at| at.0),
        last_error: record.last_error.as_ref(),
        login,
        era: record.era,
        protocol_version: record.protocol_version.as_deref(),
        server_info: record.info.as_ref(),
        instructions: record.instructions.as_deref(),
        tools: record
            .tools
            .iter()
            .map(|tool| tool.exposed.as_str())
            .collect(),
        rejected: &record.rejections,
        tokens: tokens(record),
    }
}

fn variables(entry: &ServerEntry) -> Vec<&str> {
    match &entry.spec.transport {
        pegboard_model::Transport::Stdio { env, .. } => env.keys().map(String::as_str).collect(),
        pegboard_model::Transport::Http {
            headers, bearer, ..
        } => {
            let own = bearer.iter().map(|_| "Authorization");
            headers.keys().map(String::as_str).chain(own).collect()
        }
    }
}

fn tokens(record: &ServerRecord) -> usize {
    record.tools.iter().map(|tool| tool.tokens as usize).sum()
}

fn text(
    entry: &ServerEntry,
    review: Option<&TrustReview>,
    login: Option<&LoginState>,
    output: &Output,
) -> CommandResult {
    let (spec, record) = (&entry.spec, &entry.record);
    let now = SystemClock.now();
    let mut lines: Vec<(&str, String)> = vec![
        (entry.transport(), command(entry)),
        (
            "enabled",
            if spec.enabled { "yes" } else { "no" }.to_owned(),
        ),
        ("from", origin(&spec.origin)),
        (
            "status",
            format!(
                "{}{}",
                entry.status().as_str(),
                if entry.stale { ", stale" } else { "" }
            ),
        ),
        ("discovered", ago(now, record.discovered_at)),
        (
            "tools",
            format!(
                "{}, about {} tokens",
                count(record.tools.len(), "tool"),
                thousands(tokens(record))
            ),
        ),
        ("fresh for", duration(fresh_for(entry))),
        ("share", entry.sharing().to_string()),
    ];
    if let Some(login) = login {
        lines.push(("login", login_line(login, now)));
    }
    lines.extend(trust(spec.trust_state, review));
    if let Some(description) = &spec.description {
        lines.push(("about", UntrustedText::new(description).to_string()));
    }
    if let Some(version) = &record.protocol_version {
        lines.push(("protocol", UntrustedText::new(version).to_string()));
    }
    if let Some(info) = &record.info {
        let said = format!(
            "{} {}",
            UntrustedText::new(&info.name),
            UntrustedText::new(&info.version)
        );
        lines.push(("software", said));
    }
    if let Some(error) = &record.last_error {
        let message = UntrustedText::block(&error.message).to_string();
        let message = message.replace('\n', CONTINUED);
        lines.push(("last error", format!("{message} [{}]", error.reason)));
        lines.push(("next step", error.remedy.clone()));
    }
    let names = variables(entry);
    let warnings = definition_warnings(&spec.name, &spec.transport);
    if spec.trust_state == TrustState::Granted {
        lines.extend(
            warnings
                .iter()
                .map(|warning| ("warning", warning.sentence())),
        );
    }
    if !names.is_empty() {
        let kind = if spec.transport.kind() == "http" {
            "headers"
        } else {
            "variables"
        };
        lines.push((kind, UntrustedText::new(&names.join(", ")).to_string()));
    }
    output.line(&output.paint(Paint::Strong, spec.name.as_str()))?;
    for (key, value) in lines {
        output.line(&format!(
            "  {} {value}",
            output.paint(Paint::Dim, &format!("{key:<11}"))
        ))?;
    }
    for rejection in record.rejections.iter() {
        let (tool, detail) = (
            UntrustedText::new(&rejection.tool),
            UntrustedText::new(&rejection.detail),
        );
        let mark = output.paint(Paint::Warn, "left out");
        output.line(&format!(
            "  {mark}    {tool}: {detail} [{}]",
            rejection.reason
        ))?;
    }
    Ok(())
}

/// Returns the state of a login with its issuer and scopes.
fn login_line(login: &LoginState, now: pegboard_model::Timestamp) -> String {
    let text = login_text(login, now);
    let (issuer, scopes) = match login {
        LoginState::LoggedIn { issuer, scopes, .. }
        | LoginState::MoreRightsNeeded { issuer, scopes } => (issuer, scopes.as_slice()),
        LoginState::Expired { issuer } => (issuer, [].as_slice()),
        _ => return text,
    };
    let scopes = match scopes {
        [] => String::new(),
        scopes => format!(" ({})", scopes.join(" ")),
    };
    format!("{text}{scopes}, at {}", UntrustedText::new(issuer))
}

/// Returns the command of a server; the command of an untrusted server is shown in full.
fn command(entry: &ServerEntry) -> String {
    match entry.spec.trust_state {
        TrustState::Granted => masked_command_line(&entry.spec.transport),
        TrustState::Pending | TrustState::Changed => command_line(&entry.spec.transport),
    }
}

/// Returns the trust state of a project's server, and the full review if it is not trusted.
fn trust(trust_state: TrustState, review: Option<&TrustReview>) -> Vec<(&'static str, String)> {
    let state = match trust_state {
        TrustState::Granted => {
            let own = review.and_then(|review| Some((review, review.replaces.as_ref()?)));
            let own = own.map(|(review, own)| ("note", own.sentence(&review.server)));
            return own.into_iter().collect();
        }
        TrustState::Pending => "not yet; see `pegboard trust`",
        TrustState::Changed => "changed since; see `pegboard trust`",
    };
    let lines = review.map(TrustReview::lines).unwrap_or_default();
    let mut rows = vec![("trusted", state.to_owned())];
    if !lines.is_empty() {
        rows.push(("review", lines.join(CONTINUED)));
    }
    rows
}

/// Returns the time to live of the tool list; the server's own hint takes precedence over the configured value.
fn fresh_for(entry: &ServerEntry) -> Duration {
    let limits = pegboard_model::Limits::default();
    pegboard_hub::time_to_live(&entry.spec, &entry.record, &limits)
}

fn origin(origin: &pegboard_model::Origin) -> String {
    match (&origin.file, origin.line) {
        (Some(file), Some(line)) => format!("{}:{line}", file.display()),
        (Some(file), None) => file.display().to_string(),
        _ => format!("{:?}", origin.layer).to_lowercase(),
    }
}
