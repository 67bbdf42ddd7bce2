//! The plan and the result of an import as text.

use std::path::Path;

use pegboard_config::clients::{
    FileScope, FileState, ImportFile, ImportPlan, ImportReport, ImportServer, ResultState,
    Selection, ServerState,
};
use pegboard_model::UntrustedText;

use super::paint;
use crate::commands::{CommandResult, Output};
use crate::output::Paint;

/// Prints one row for each server of each file, and then what is to be known about the servers.
pub(in crate::commands) fn plan(
    plan: &ImportPlan,
    selection: &Selection,
    home: &Path,
    output: &Output,
) -> CommandResult {
    plan_with_details(plan, selection, home, output, |_| true)
}

/// Whether there is more to know about a server than what it runs.
pub(in crate::commands) fn is_noteworthy(server: &ImportServer) -> bool {
    !server.enabled
        || !server.secrets.is_empty()
        || !server.required_secrets.is_empty()
        || !server.policies.is_empty()
        || !server.notes.is_empty()
}

/// Prints one row for each server of each file, and the details of some servers.
pub(in crate::commands) fn plan_with_details(
    plan: &ImportPlan,
    selection: &Selection,
    home: &Path,
    output: &Output,
    wants_details: fn(&ImportServer) -> bool,
) -> CommandResult {
    if plan.files.is_empty() {
        output.note("No config file of a known client was found.");
        return Ok(());
    }
    let mut rows = Vec::new();
    for file in &plan.files {
        let is_wanted =
            selection.clients.is_empty() || selection.clients.iter().any(|key| key == file.client);
        if is_wanted {
            file_rows(file, plan, home, output, &mut rows);
        }
    }
    if rows.is_empty() {
        output.note("These clients have no config file.");
        return Ok(());
    }
    output.line(&output.table(&["CLIENT", "FILE", "SERVER", "STATE"], rows, 3))?;
    for server in plan
        .servers
        .iter()
        .filter(|server| selection.contains(server) && wants_details(server))
    {
        details(server, output)?;
    }
    let left_out = plan
        .importable()
        .filter(|server| !selection.contains(server));
    let left_out = left_out
        .filter(|server| server.scope == FileScope::Project)
        .count();
    if left_out > 0 && selection.clients.is_empty() && selection.servers.is_empty() {
        let (servers, file) = (
            count(left_out, "server"),
            shown_in_project(&plan.project_file, plan, home),
        );
        output.note(&format!(
            "{servers} of this project's files can be added to {file} with `--project-servers`; they need `pegboard \
             trust` before they run."
        ));
    }
    Ok(())
}

fn file_rows(
    file: &ImportFile,
    plan: &ImportPlan,
    home: &Path,
    output: &Output,
    rows: &mut Vec<Vec<String>>,
) {
    let path = shown_in_project(&file.path, plan, home);
    let start = |is_first: bool| match is_first {
        true => [file.client_name.to_owned(), path.clone()],
        false => [String::new(), String::new()],
    };
    let servers = file
        .servers
        .iter()
        .filter_map(|index| plan.servers.get(*index));
    for (at, server) in servers.enumerate() {
        let [client, path] = start(at == 0);
        let source = server
            .sources
            .iter()
            .find(|source| source.path == file.path && source.client == file.client);
        let name = source.map_or(&server.original_name, |source| &source.name);
        rows.push(vec![client, path, name.clone(), state(server, output)]);
    }
    if file.servers.is_empty() {
        let [client, path] = start(true);
        let text = match (&file.problem, file.state) {
            (Some(problem), _) => {
                let line = problem
                    .line
                    .map_or(String::new(), |line| format!("line {line}: "));
                output.paint(Paint::Bad, &format!("broken: {line}{}", problem.message))
            }
            (None, FileState::Empty) => output.paint(Paint::Dim, "no servers"),
            (None, _) => String::new(),
        };
        rows.push(vec![client, path, String::new(), text]);
    }
}

fn state(server: &ImportServer, output: &Output) -> String {
    let name = server.name.as_ref().or(server.existing.as_ref());
    let name = name.map(|name| name.as_str()).unwrap_or_default();
    let (paint, text) = match server.state {
        ServerState::New if name == server.original_name => (Paint::Good, "new".to_owned()),
        ServerState::New => (Paint::Good, format!("new, as {name}")),
        ServerState::Differs => (Paint::Warn, format!("differs, new as {name}")),
        ServerState::Same => (Paint::Dim, format!("same as {name}")),
        ServerState::Pegboard => (Paint::Dim, "is Pegboard".to_owned()),
        ServerState::Read => (Paint::Dim, "Pegboard reads this file itself".to_owned()),
        _ => {
            let reason = server
                .problem
                .as_ref()
                .map_or("", |problem| &problem.message);
            (Paint::Bad, format!("broken: {reason}"))
        }
    };
    let project = match server.scope {
        FileScope::Project if server.is_importable() => " (project)",
        _ => "",
    };
    output.paint(paint, &format!("{text}{project}"))
}

/// Prints what a server runs, and what a user should know before importing it.
fn details(server: &ImportServer, output: &Output) -> CommandResult {
    let Some(name) = server.name.as_ref().filter(|_| server.is_importable()) else {
        return Ok(());
    };
    let definition = server.definition.as_deref().unwrap_or_default();
    let disabled = if server.enabled { "" } else { " (disabled)" };
    output.line("")?;
    output.line(&format!(
        "{}{disabled}  {definition}",
        output.paint(Paint::Strong, name.as_str())
    ))?;
    for setting in &server.settings {
        output.line(&format!("  {setting}"))?;
    }
    for secret in &server.secrets {
        let stored = if secret.is_stored {
            ", which is stored already"
        } else {
            ""
        };
        output.line(&format!(
            "  {}: looks like a secret -> ${{secret:{}}}{stored}",
            secret.place, secret.name
        ))?;
    }
    for secret in server
        .required_secrets
        .iter()
        .filter(|secret| !secret.is_stored)
    {
        output.line(&format!(
            "  {}: needs `pegboard secret set {}` ({})",
            secret.place, secret.name, secret.prompt
        ))?;
    }
    for (pattern, policy) in &server.policies {
        let pattern = UntrustedText::new(pattern).shortened(60).to_string();
        output.line(&format!("  policy {pattern} = {}", policy.as_str()))?;
    }
    if !server.available_tools.is_empty() {
        let tools = server
            .available_tools
            .iter()
            .map(|tool| UntrustedText::new(tool).shortened(60).to_string());
        output.line(&format!(
            "  available tools: {}",
            tools.collect::<Vec<_>>().join(", ")
        ))?;
    }
    for note in &server.notes {
        output.line(&format!("  {}", output.paint(Paint::Warn, note)))?;
    }
    Ok(())
}

/// Prints the result for each server.
pub(in crate::commands) fn report(
    report: &ImportReport,
    home: &Path,
    output: &Output,
) -> CommandResult {
    output.line("")?;
    for result in &report.results {
        let name = result
            .name
            .as_ref()
            .map_or(&*result.original_name, |name| name.as_str());
        let text = match (result.state, &result.file, &result.reason) {
            (ResultState::Written, Some(file), _) => {
                format!("✓ {name}  written to {}", shown(file, home))
            }
            (ResultState::Failed, _, Some(reason)) => format!("✗ {name}  not imported: {reason}"),
            (_, _, reason) => format!(
                "- {name}  skipped: {}",
                reason.as_deref().unwrap_or_default()
            ),
        };
        output.line(&output.paint(paint(result.state), &text))?;
    }
    if !report.stored_secrets.is_empty() {
        output.note(&format!(
            "Stored {}.",
            count(report.stored_secrets.len(), "secret")
        ));
    }
    for name in &report.missing_secrets {
        output.note(&format!(
            "Set the missing secret with `pegboard secret set {name}`."
        ));
    }
    if report.written().any(|result| result.needs_trust) {
        output.note("Review the project's servers with `pegboard trust`; they do not run before.");
    }
    Ok(())
}

pub(in crate::commands) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// A path for people, relative to the project if it is in it. The home folder is not a project.
fn shown_in_project(path: &Path, plan: &ImportPlan, home: &Path) -> String {
    let project = plan.project_file.parent().and_then(Path::parent);
    let project = project.filter(|project| !home.starts_with(project));
    match project.and_then(|project| path.strip_prefix(project).ok()) {
        Some(rest) => UntrustedText::new(&rest.to_string_lossy()).to_string(),
        None => shown(path, home),
    }
}

/// A path for people: the home folder is `~`.
pub(in crate::commands) fn shown(path: &Path, home: &Path) -> String {
    let path = match path.strip_prefix(home) {
        Ok(rest) => Path::new("~").join(rest),
        Err(_) => path.to_owned(),
    };
    UntrustedText::new(&path.to_string_lossy()).to_string()
}
