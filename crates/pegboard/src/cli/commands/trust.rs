//! `pegboard trust`: see the exact command of a project's server, and agree to it.

use pegboard_config::{Agreements, command_line};
use pegboard_model::{Approval, Foreign, Reason, ServerSpec, ToolError, Transport, is_secret_name};
use serde::Serialize;

use super::{Done, Global, Output, configured, server_name};
use crate::Configured;
use crate::cli::args::TrustArgs;
use crate::cli::failure::Failure;
use crate::cli::output::Paint;
use crate::cli::people::{can_ask, confirm};

#[derive(Serialize)]
struct Row {
    server: String,
    approval: Approval,
    command: String,
    file: Option<std::path::PathBuf>,
}

pub(crate) fn run(args: &TrustArgs, global: &Global, output: &Output) -> Done {
    let configured = configured(global, output)?;
    let specs = wanted(args, &configured)?;
    let mut agreements = Agreements::open(&configured.paths.state_dir);
    let Some(project) = configured.loaded.project.clone() else {
        output.note("No project is here, so nothing waits for an agreement.");
        return if output.json {
            output.document(&Vec::<Row>::new())
        } else {
            Ok(())
        };
    };
    if output.json {
        let rows: Vec<Row> = specs.iter().map(|spec| row(spec)).collect();
        output.document(&rows)?;
        if !args.yes && !args.revoke {
            return Ok(());
        }
    }
    if specs.is_empty() {
        output.note("No server waits for an agreement.");
    }
    let mut refused = false;
    for spec in specs {
        if args.revoke {
            agreements.revoke(&project, &spec.name)?;
            output.note(&format!(
                "server `{}` waits for an agreement again",
                spec.name
            ));
            continue;
        }
        if !output.json {
            show(spec, output)?;
        }
        let agreed =
            args.yes || (can_ask() && confirm(&format!("Run server `{}`?", spec.name), false));
        if agreed {
            agreements.grant(&project, &spec.name, &spec.hash)?;
            output.note(&format!("agreed to server `{}` as it is now", spec.name));
        } else {
            refused = true;
            output.note(&format!("server `{}` stays pending", spec.name));
        }
    }
    if refused {
        Err(Failure::shown(Reason::ServerPending.exit_code()))
    } else {
        Ok(())
    }
}

fn wanted<'a>(
    args: &TrustArgs,
    configured: &'a Configured,
) -> Result<Vec<&'a ServerSpec>, Failure> {
    let servers = &configured.loaded.servers;
    match &args.server {
        None => Ok(servers
            .values()
            .filter(|spec| spec.approval != Approval::Granted)
            .collect()),
        Some(name) => {
            let name = server_name(name, configured)?;
            let from_project = servers
                .get(&name)
                .filter(|spec| spec.origin.layer == pegboard_model::Layer::Project);
            from_project.map(|spec| vec![spec]).ok_or_else(|| {
                let message = format!("server `{name}` is your own; it needs no agreement");
                let error = ToolError::new(Reason::ConfigInvalid, message).at_server(&name);
                error
                    .with_remedy("Only servers that a project file brings wait for one.")
                    .into()
            })
        }
    }
}

fn row(spec: &ServerSpec) -> Row {
    Row {
        server: spec.name.to_string(),
        approval: spec.approval,
        command: command_line(&spec.transport),
        file: spec.origin.file.clone(),
    }
}

fn show(spec: &ServerSpec, output: &Output) -> Done {
    let row = row(spec);
    let file = row
        .file
        .map(|file| file.display().to_string())
        .unwrap_or_default();
    let changed = if spec.approval == Approval::Changed {
        ", changed since you agreed"
    } else {
        ""
    };
    output.line(&format!(
        "{} (from {file}{changed})",
        output.paint(Paint::Strong, &row.server)
    ))?;
    output.line(&format!("  {}", row.command))?;
    match &spec.transport {
        Transport::Stdio { env, cwd, .. } => {
            if let Some(cwd) = cwd {
                output.line(&format!("  in {}", Foreign::new(&cwd.exact())))?;
            }
            // A variable can change what a program does as much as an argument can.
            for (name, value) in env {
                let hidden = is_secret_name(name) && !value.has_references();
                let value = if hidden { "***" } else { value.written() };
                output.line(&format!(
                    "  with {}={}",
                    Foreign::new(name),
                    Foreign::new(value)
                ))?;
            }
        }
        Transport::Http {
            headers, bearer, ..
        } => {
            let mut names: Vec<_> = headers
                .keys()
                .map(|k| Foreign::new(k).to_string())
                .collect();
            if bearer.is_some() {
                names.push("Authorization".to_owned());
            }
            if !names.is_empty() {
                output.line(&format!("  with headers {}", names.join(", ")))?;
            }
        }
    }
    Ok(())
}
