//! `pegboard list`: prints the configured servers without starting any.

use pegboard_catalog::ServerEntry;
use pegboard_config::masked_command_line;
use pegboard_hub::SystemClock;
use pegboard_model::{Clock, DiscoveryStatus, LoginState, TrustState};
use serde::Serialize;

use super::login::login_paint;
use super::{CommandResult, Global, Output, builder, load_config, note_if_empty, open, reading};
use crate::format::{ago, count};
use crate::output::Paint;

#[derive(Serialize)]
struct Row {
    name: String,
    transport: &'static str,
    /// The command or URL, with secrets masked.
    command: String,
    enabled: bool,
    trust_state: TrustState,
    status: DiscoveryStatus,
    stale: bool,
    tools: usize,
    tokens: usize,
    last_discovered: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<LoginState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    layer: pegboard_model::Layer,
    #[serde(skip)]
    state: (Paint, &'static str),
}

#[derive(Serialize)]
struct Document<'a> {
    servers: &'a [Row],
    total: usize,
    broken: Vec<&'a String>,
}

pub(crate) fn run(global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    reading(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let catalog = pegboard.hub().catalog();
        let rows: Vec<Row> = catalog
            .servers()
            .map(|entry| row(entry, pegboard.hub().login_state(entry)))
            .collect();
        let broken: Vec<&String> = pegboard.configuration().loaded.broken.keys().collect();
        if output.json {
            return output.document(&Document {
                total: rows.len(),
                servers: &rows,
                broken,
            });
        }
        if note_if_empty(pegboard.configuration(), output) {
            return Ok(());
        }
        let now = SystemClock.now();
        let mut lines: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                vec![
                    row.name.clone(),
                    output.paint(row.state.0, row.state.1),
                    row.tools.to_string(),
                    ago(now, row.last_discovered.map(pegboard_model::Timestamp)),
                    note(row),
                ]
            })
            .collect();
        for name in broken {
            let state = output.paint(Paint::Bad, "broken");
            let note = "see `pegboard config check`".to_owned();
            lines.push(vec![
                name.clone(),
                state,
                String::new(),
                String::new(),
                note,
            ]);
        }
        output.line(&output.table(
            &["SERVER", "STATE", "TOOLS", "DISCOVERED", "NOTE"],
            lines,
            4,
        ))?;
        let tools = rows.iter().map(|row| row.tools).sum();
        output.note(&format!(
            "{}, {}",
            count(rows.len(), "server"),
            count(tools, "tool")
        ));
        Ok(())
    })
}

fn row(entry: &ServerEntry, login: Option<LoginState>) -> Row {
    let record = &entry.record;
    let is_offered = entry.spec.enabled && entry.spec.trust_state == TrustState::Granted;
    let missing = login
        .as_ref()
        .filter(|login| is_offered && login.needs_person())
        .map(|login| (login_paint(login), login.words()));
    Row {
        name: entry.spec.name.to_string(),
        transport: entry.transport(),
        command: masked_command_line(&entry.spec.transport),
        enabled: entry.spec.enabled,
        trust_state: entry.spec.trust_state,
        status: entry.status(),
        stale: entry.stale,
        tools: record.tools.len(),
        tokens: record.tools.iter().map(|tool| tool.tokens as usize).sum(),
        last_discovered: record.discovered_at.map(|at| at.0),
        last_error: record.last_error.as_ref().map(|note| note.message.clone()),
        description: entry.spec.description.clone(),
        layer: entry.spec.origin.layer,
        state: missing.unwrap_or_else(|| state_of(entry)),
        login,
    }
}

/// Returns the state of a server in one word.
pub(super) fn state_of(entry: &ServerEntry) -> (Paint, &'static str) {
    match (entry.spec.enabled, entry.spec.trust_state, entry.status()) {
        (false, _, _) => (Paint::Dim, "disabled"),
        (_, TrustState::Pending, _) => (Paint::Warn, "pending"),
        (_, TrustState::Changed, _) => (Paint::Warn, "changed"),
        (_, _, DiscoveryStatus::Failed) => (Paint::Bad, "failed"),
        (_, _, DiscoveryStatus::Success) if entry.stale => (Paint::Warn, "stale"),
        (_, _, DiscoveryStatus::Success) => (Paint::Good, "known"),
        (_, _, DiscoveryStatus::Never) => (Paint::Dim, "undiscovered"),
        (_, _, DiscoveryStatus::Discovering) => (Paint::Warn, "discovering"),
    }
}

fn note(row: &Row) -> String {
    match (row.trust_state, &row.last_error) {
        (TrustState::Pending | TrustState::Changed, _) => {
            format!("review with `pegboard trust {}`", row.name)
        }
        (TrustState::Granted, _)
            if row.enabled && row.login.as_ref().is_some_and(LoginState::needs_person) =>
        {
            match &row.login {
                Some(LoginState::MoreRightsNeeded { scopes, .. }) if !scopes.is_empty() => {
                    format!("`pegboard login {}` adds: {}", row.name, scopes.join(" "))
                }
                _ => format!("log in with `pegboard login {}`", row.name),
            }
        }
        (_, Some(error)) => {
            pegboard_model::UntrustedText::new(error.lines().next().unwrap_or_default())
                .shortened(160)
                .to_string()
        }
        _ => row.description.clone().unwrap_or_default(),
    }
}
