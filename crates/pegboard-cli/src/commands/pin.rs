//! `pegboard pin`: fixes the version of a server's package, records its hash, and shows updates.

use std::collections::BTreeMap;

use clap::Args;
use pegboard::Configuration;
use pegboard_config::edit::set_values;
use pegboard_model::{
    Ecosystem, Layer, Reason, RunnerPackage, ServerName, ServerSpec, ToolError, Transport,
    UntrustedText, find_package,
};
use pegboard_upstream::{ResolvedPackage, resolve_package};
use serde::Serialize;
use serde_json::{Map, json};

use super::edit::target;
use super::{CommandResult, Global, Output, load_config, reading, server_name};
use crate::failure::Failure;
use crate::output::Paint;

#[derive(Args)]
pub(crate) struct PinArgs {
    /// The server [with --check: all servers that run a package]
    #[arg(required_unless_present = "check")]
    pub(crate) server: Option<String>,
    /// Compare with the registry and change nothing
    #[arg(long, conflicts_with = "update")]
    pub(crate) check: bool,
    /// Pin the newest version, even if another one is pinned
    #[arg(long)]
    pub(crate) update: bool,
}

/// What was found about one server.
#[derive(Serialize)]
struct PinState {
    server: ServerName,
    package: String,
    /// The version in the config file.
    version: Option<String>,
    /// The newest version.
    newest: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(args: &PinArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let name = args.server.as_deref();
    let name = name
        .map(|name| server_name(name, &configuration))
        .transpose()?;
    match (name, args.check) {
        (Some(name), false) => pin(&name, args.update, &configuration, global, output),
        (name, _) => check(name.as_ref(), &configuration, output),
    }
}

/// Returns the package of a server, with the words of its command as written.
fn package_of(spec: &ServerSpec) -> Result<(RunnerPackage, String, Vec<String>), ToolError> {
    let refuse = |why: &str, remedy: &str| {
        let message = format!("server `{}` cannot be pinned: {why}", spec.name);
        Err(ToolError::new(Reason::ConfigInvalid, message)
            .at_server(&spec.name)
            .with_remedy(remedy))
    };
    let Transport::Stdio { command, args, .. } = &spec.transport else {
        return refuse(
            "it runs at a URL, and who runs it can change it at any time",
            "Review its tools when they change.",
        );
    };
    let program = command.written().to_owned();
    let words: Vec<String> = args.iter().map(|arg| arg.written().to_owned()).collect();
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(package) = find_package(&program, &texts) else {
        return refuse(
            "its command runs no package",
            "Pinning needs a command with `npx`, `uvx` or `docker run`.",
        );
    };
    if package.is_local() || package.written.contains("${") {
        return refuse(
            "its package is not from a registry",
            "Name the commit, or copy the files to a folder that only you change.",
        );
    }
    Ok((package, program, words))
}

fn pin(
    name: &ServerName,
    update: bool,
    configuration: &Configuration,
    global: &Global,
    output: &Output,
) -> CommandResult {
    let Some(spec) = configuration.loaded.servers.get(name) else {
        return Ok(());
    };
    let (package, program, mut words) = package_of(spec)?;
    let wanted = package.version().filter(|_| !update);
    let found = reading(async { Ok(look_up(&package, wanted, configuration).await?) })?;
    let is_same_version = package.is_pinned() && package.version() == Some(&found.version);
    if is_same_version && !spec.integrity.is_empty() && !has_hashes(spec, &found) {
        return Err(changed(name, &package).into());
    }
    let (_, file) = target(name.as_str(), global, output)?;
    let before = package.written.clone();
    if let Some(word) = words.get_mut(package.position) {
        *word = package.pinned(&found.version);
    }
    let mut values = Map::new();
    values.insert("command".to_owned(), program.into());
    values.insert("args".to_owned(), words.into());
    values.insert("integrity".to_owned(), found.integrity.clone().into());
    set_values(&file, name, &values)?;
    if output.json {
        return output.document(&json!({
            "server": name,
            "package": package.name(),
            "before": before,
            "version": found.version,
            "integrity": found.integrity,
            "file": file,
        }));
    }
    let after = UntrustedText::new(&package.pinned(&found.version)).to_string();
    let before = UntrustedText::new(&before).to_string();
    match before == after {
        true => output.line(&format!("{after} (hash recorded)"))?,
        false => output.line(&format!("{before} → {after}"))?,
    }
    output.note(&format!("pinned server `{name}` in {}", file.display()));
    if spec.origin.layer == Layer::Project {
        output.note(&format!(
            "Trust the new definition with `pegboard trust {name}`."
        ));
    }
    Ok(())
}

async fn look_up(
    package: &RunnerPackage,
    version: Option<&str>,
    configuration: &Configuration,
) -> Result<ResolvedPackage, ToolError> {
    let variables: &BTreeMap<String, String> = &configuration.environment.vars;
    resolve_package(package, version, variables).await
}

/// Whether every hash in the registry is recorded.
fn has_hashes(spec: &ServerSpec, found: &ResolvedPackage) -> bool {
    let known = |hash: &String| spec.integrity.contains(hash);
    found.integrity.iter().all(known)
}

fn changed(name: &ServerName, package: &RunnerPackage) -> ToolError {
    let shown = UntrustedText::new(&package.written).to_string();
    let message =
        format!("the package `{shown}` of server `{name}` does not have the recorded hash");
    let remedy = "Find out why before you start it; `pegboard edit SERVER integrity null` removes the recorded hash.";
    ToolError::new(Reason::SupplyChanged, message)
        .at_server(name)
        .with_remedy(remedy)
}

fn check(
    only: Option<&ServerName>,
    configuration: &Configuration,
    output: &Output,
) -> CommandResult {
    let mut states = Vec::new();
    reading(async {
        for (name, spec) in &configuration.loaded.servers {
            if only.is_some_and(|only| only != name) {
                continue;
            }
            match package_of(spec) {
                Ok((package, ..)) => states.push(state(spec, &package, configuration).await),
                Err(error) if only.is_some() => return Err(error.into()),
                Err(_) => {}
            }
        }
        Ok(())
    })?;
    let is_changed = states.iter().any(|state| state.state == CHANGED);
    if output.json {
        output.document(&json!({ "servers": states }))?;
    } else if states.is_empty() {
        output.note("No server runs a package.");
    } else {
        print(&states, output)?;
    }
    match is_changed {
        true => Err(Failure::shown(Reason::SupplyChanged.exit_code())),
        false => Ok(()),
    }
}

const CHANGED: &str = "changed";

async fn state(
    spec: &ServerSpec,
    package: &RunnerPackage,
    configuration: &Configuration,
) -> PinState {
    let mut state = PinState {
        server: spec.name.clone(),
        package: package.name().to_owned(),
        version: package.version().map(str::to_owned),
        newest: None,
        state: "not pinned",
        error: None,
    };
    // A digest has no order; the newest image is the one of the usual tag.
    let newest = look_up(package, None, configuration).await;
    match newest {
        Ok(found) => state.newest = Some(found.version),
        Err(error) => {
            state.state = "unknown";
            state.error = Some(error.message.clone());
            return state;
        }
    }
    let is_exact = package.is_pinned()
        && (package.ecosystem != Ecosystem::Image || package.written.contains("@sha256:"));
    if !is_exact || spec.integrity.is_empty() {
        return state;
    }
    match look_up(package, package.version(), configuration).await {
        Ok(found) if !has_hashes(spec, &found) => state.state = CHANGED,
        Ok(_) if state.newest == state.version => state.state = "current",
        Ok(_) => state.state = "update available",
        Err(error) => {
            state.state = "unknown";
            state.error = Some(error.message.clone());
        }
    }
    state
}

fn print(states: &[PinState], output: &Output) -> CommandResult {
    let shown = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or("-");
        UntrustedText::new(text).shortened(24).to_string()
    };
    let mut rows = vec![
        ["server", "package", "version", "newest", "state"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for state in states {
        let paint = match state.state {
            "current" => Paint::Good,
            CHANGED => Paint::Bad,
            _ => Paint::Warn,
        };
        rows.push(vec![
            state.server.to_string(),
            UntrustedText::new(&state.package).to_string(),
            shown(&state.version),
            shown(&state.newest),
            output.paint(paint, state.state),
        ]);
    }
    output.line(&crate::table::render(&rows, None))?;
    for state in states {
        if let Some(error) = &state.error {
            output.note(&format!("server `{}`: {error}", state.server));
        }
    }
    Ok(())
}
