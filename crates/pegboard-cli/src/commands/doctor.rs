//! `pegboard doctor`: checks the setup, starts servers and discovers their tools.

use std::time::Instant;

use clap::Args;
use pegboard::Configuration;
use pegboard_config::{LoadedConfig, Problem, Severity};
use pegboard_hub::{Hub, RefreshOutcome, RefreshScope, SystemClock};
use pegboard_model::{Clock, ToolError, UntrustedText};
use serde::Serialize;

use super::log_hints::log_hints;
use super::{
    CommandResult, Global, Output, builder, load_config, open, server_name, with_servers, working,
};
use crate::failure::Failure;
use crate::format::{count, login_text};
use crate::output::Paint;
use crate::overrides::override_problems;

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Only this server
    pub(crate) server: Option<String>,
}

#[derive(Serialize)]
struct Check {
    check: String,
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    /// True if it works but needs attention.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warning: bool,
    #[serde(skip)]
    exit: u8,
}

impl Check {
    fn good(check: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            ok: true,
            detail: detail.into(),
            remedy: None,
            warning: false,
            exit: 0,
        }
    }

    fn bad(check: impl Into<String>, error: &ToolError) -> Self {
        Self {
            check: check.into(),
            ok: false,
            detail: format!(
                "{} [{}]",
                UntrustedText::block(&error.message),
                error.reason
            ),
            remedy: Some(error.remedy.clone()),
            warning: false,
            exit: error.reason.exit_code(),
        }
    }

    fn warning(check: impl Into<String>, error: &ToolError) -> Self {
        Self {
            ok: true,
            warning: true,
            exit: 0,
            ..Self::bad(check, error)
        }
    }
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    checks: &'a [Check],
}

pub(crate) fn run(args: &DoctorArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let server = args
        .server
        .as_deref()
        .map(|name| server_name(name, &configuration))
        .transpose()?;
    let mut checks = if server.is_none() {
        machine(&configuration)
    } else {
        Vec::new()
    };
    working(async {
        let pegboard = open(configuration, builder(global), output).await?;
        let logs = pegboard.configuration().logs();
        let loaded = pegboard.configuration().loaded.clone();
        with_servers(pegboard, |hub| async move {
            let which = server.map_or(RefreshScope::All, RefreshScope::One);
            let bar = super::progress::progress(&hub, hub.catalog().servers().count(), output);
            let started = Instant::now();
            let outcomes = hub.refresh(which, true).await?;
            drop(bar);
            for outcome in &outcomes {
                checks.push(server_check(&hub, outcome));
                if let Err(error) = &outcome.result
                    && !error.message.contains('\n')
                    && let Ok(text) = logs.read(&outcome.server)
                {
                    // A message of several lines already contains the end of the server's log.
                    add_log(&mut checks, outcome, &text);
                }
                if matches!(&outcome.result, Ok(found) if found.tools == 0)
                    && let Ok(text) = logs.read(&outcome.server)
                    && let Some(log_hints) = log_hints(&outcome.server, &text)
                    && let Some(check) = checks.last_mut()
                {
                    check.warning = true;
                    check.detail += &format!("; it wrote:\n  {}", log_hints.lines.join("\n  "));
                    check.remedy = Some(log_hints.remedy);
                }
            }
            checks.extend(override_checks(&loaded, &hub));
            if outcomes.len() > 1 {
                let took = format!(
                    "{} in {:.1} s",
                    count(outcomes.len(), "server"),
                    started.elapsed().as_secs_f32()
                );
                checks.push(Check::good("discovery", took));
            }
            print(&checks, output)
        })
        .await
    })
}

/// Returns the checks that need no server.
fn machine(configuration: &Configuration) -> Vec<Check> {
    let loaded = &configuration.loaded;
    let errors = loaded
        .problems
        .iter()
        .filter(|p| p.severity == Severity::Error);
    let mut checks: Vec<Check> = errors.map(configuration_check).collect();
    if checks.is_empty() {
        let detail = format!("{} configured", count(loaded.servers.len(), "server"));
        checks.push(Check::good("configuration", detail));
    }
    let folder = configuration.paths.state_dir.display().to_string();
    checks.push(match configuration.state.check_writable() {
        Ok(()) => Check::good("state folder", folder),
        Err(error) => Check::bad("state folder", &error),
    });
    let left = pegboard_upstream::sweep_orphans();
    let detail = match left {
        0 => "no leftover processes of earlier runs".to_owned(),
        left => format!("leftover processes of earlier runs ended: {left}"),
    };
    checks.push(Check::good("processes", detail));
    checks.push(match configuration.secrets().list() {
        Ok(secrets) => Check::good(
            "secrets",
            format!("{} stored", count(secrets.len(), "value")),
        ),
        Err(problem) => {
            let error = ToolError::new(problem.reason, problem.message);
            Check::bad("secrets", &error.with_remedy(problem.help))
        }
    });
    checks
}

/// Converts a problem of the configuration to a check with its server and location.
fn configuration_check(problem: &Problem) -> Check {
    let server = problem.server.as_ref();
    let server = server.map(|server| format!("server `{server}`: "));
    let place = match (&problem.file, problem.line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", file.display()),
        (Some(file), None) => format!(" ({})", file.display()),
        _ => String::new(),
    };
    let message = format!("{}{}{place}", server.unwrap_or_default(), problem.message);
    let error = ToolError::new(problem.reason, message).with_remedy(problem.help.clone());
    match problem.severity {
        Severity::Error => Check::bad("configuration", &error),
        Severity::Warning | Severity::Advice => Check::warning("configuration", &error),
    }
}

/// Returns the problems of tool overrides, checked against the discovered tools.
fn override_checks(loaded: &LoadedConfig, hub: &Hub) -> Vec<Check> {
    let catalog = hub.catalog();
    let entries = catalog.servers();
    let known = entries
        .map(|entry| (entry.name(), entry.record.as_ref()))
        .collect();
    let problems = override_problems(loaded, &known);
    problems.iter().map(configuration_check).collect()
}

fn server_check(hub: &Hub, outcome: &RefreshOutcome) -> Check {
    let name = format!("server {}", outcome.server);
    match &outcome.result {
        Err(error) => Check::bad(name, error),
        Ok(found) => {
            if let Some(error) = &outcome.not_stored {
                let mut check = Check::bad(name, error);
                check.detail = format!("its list is not stored: {}", check.detail);
                return check;
            }
            let catalog = hub.catalog();
            let record = catalog
                .server(&outcome.server)
                .map(|entry| entry.record.clone());
            let version = record
                .and_then(|record| record.protocol_version.clone())
                .unwrap_or_default();
            let mut detail = format!(
                "{}, protocol {}, {} ms",
                count(found.tools, "tool"),
                UntrustedText::new(&version),
                outcome.duration_ms
            );
            if !found.rejected.is_empty() {
                detail += &format!(", {} left out", count(found.rejected.len(), "tool"));
            }
            let login = catalog.server(&outcome.server);
            if let Some(login) = login.and_then(|entry| hub.login_state(entry)) {
                detail += &format!(", {}", login_text(&login, SystemClock.now()));
            }
            Check::good(name, detail)
        }
    }
}

fn add_log(checks: &mut [Check], outcome: &RefreshOutcome, text: &str) {
    let Some(check) = checks.last_mut() else {
        return;
    };
    let last: Vec<_> = text.lines().rev().take(3).collect();
    if !last.is_empty() {
        let lines: Vec<_> = last
            .iter()
            .rev()
            .map(|line| UntrustedText::new(line).to_string())
            .collect();
        check.detail += &format!("; {} wrote:\n  {}", outcome.server, lines.join("\n  "));
    }
}

fn print(checks: &[Check], output: &Output) -> CommandResult {
    let exit = checks.iter().map(|check| check.exit).max().unwrap_or(0);
    if output.json {
        output.document(&Document {
            ok: exit == 0,
            checks,
        })?;
    } else {
        for check in checks {
            let mark = if check.warning {
                output.paint(Paint::Warn, "!")
            } else if check.ok {
                output.paint(Paint::Good, "✓")
            } else {
                output.paint(Paint::Bad, "✗")
            };
            let detail = check.detail.replace('\n', "\n    ");
            output.line(&format!(
                "{mark} {}: {detail}",
                output.paint(Paint::Strong, &check.check)
            ))?;
            if let Some(remedy) = &check.remedy {
                output.line(&format!("    {remedy}"))?;
            }
        }
    }
    if exit == 0 {
        Ok(())
    } else {
        Err(Failure::shown(exit))
    }
}
