//! The status as text.

use pegboard_hub::SystemClock;
use pegboard_model::{Clock, Timestamp, UntrustedText};

use super::{Client, RunningPegboard, Status};
use crate::commands::CommandResult;
use crate::format::{bytes, count, duration};
use crate::output::{Output, Paint};

/// The number of characters shown of an error.
const MAX_ERROR_CHARS: usize = 160;

pub(super) fn print(status: &Status, output: &Output) -> CommandResult {
    let row = |name: &str, text: &str| output.line(&format!("{name:<10} {text}"));
    row("Pegboard", &running(status, output))?;
    if let Some(RunningPegboard {
        error: Some(error), ..
    }) = &status.running
    {
        let error = UntrustedText::new(error).to_string();
        row("", &output.paint(Paint::Bad, &error))?;
    }
    let background = status.background.lines(output);
    if !background.iter().any(|(name, _)| *name == "Client") {
        row("Clients", &clients(status.clients.as_deref()))?;
    }
    for (name, text) in background {
        row(name, &text)?;
    }
    for file in status.config.files.iter().filter(|file| file.exists) {
        row("Config", &file.path.display().to_string())?;
    }
    if let Some(problems) = problems(status) {
        row("", &output.paint(Paint::Warn, &problems))?;
    }
    row("Servers", &servers(status))?;
    row("Tools", &crate::format::thousands(status.tools))?;
    let store = &status.store;
    let read_only = if store.writable { "" } else { ", read-only" };
    let size = bytes(store.bytes);
    row(
        "Store",
        &format!("{} ({size}{read_only})", store.path.display()),
    )?;
    for error in &status.last_errors {
        let first = error.message.lines().next().unwrap_or_default();
        let message = UntrustedText::new(first).shortened(MAX_ERROR_CHARS);
        let text = format!("{}: {message} [{}]", error.server, error.code);
        row("Error", &output.paint(Paint::Bad, &text))?;
    }
    if status.running.is_none() {
        output.note("Start one with `pegboard up`. Clients that use `pegboard stdio` need none.");
    }
    Ok(())
}

fn running(status: &Status, output: &Output) -> String {
    let Some(found) = &status.running else {
        return output.paint(Paint::Dim, "not running over HTTP");
    };
    let mut parts = Vec::new();
    parts.extend(found.pid.map(|pid| format!("process {pid}")));
    parts.extend(found.since.map(|since| {
        let age = SystemClock.now().since(Timestamp(since));
        format!("for {}", duration(age))
    }));
    parts.extend(
        found
            .version
            .as_deref()
            .map(|version| format!("version {}", UntrustedText::new(version))),
    );
    let (paint, word) = match found.reachable {
        true => (Paint::Good, "running"),
        false => (Paint::Bad, "does not answer"),
    };
    let word = output.paint(paint, word);
    format!("{word} at {} ({})", found.url, parts.join(", "))
}

fn clients(clients: Option<&[Client]>) -> String {
    let Some(clients) = clients else {
        return "unknown".to_owned();
    };
    let names = clients.iter().map(|client| {
        let name = client.client.as_deref().unwrap_or(&client.id);
        UntrustedText::new(name).shortened(60).to_string()
    });
    match clients.len() {
        0 => "none".to_owned(),
        number => format!("{number}: {}", names.collect::<Vec<_>>().join(", ")),
    }
}

fn problems(status: &Status) -> Option<String> {
    let config = &status.config;
    let mut parts = Vec::new();
    if config.errors > 0 {
        parts.push(count(config.errors, "error"));
    }
    if config.warnings > 0 {
        parts.push(count(config.warnings, "warning"));
    }
    (!parts.is_empty()).then(|| format!("{}; see `pegboard config check`", parts.join(", ")))
}

fn servers(status: &Status) -> String {
    let states = status.servers.by_state.iter();
    let mut parts: Vec<String> = states
        .map(|(state, number)| format!("{number} {state}"))
        .collect();
    if !status.servers.broken.is_empty() {
        parts.push(format!("{} broken", status.servers.broken.len()));
    }
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    }
}
