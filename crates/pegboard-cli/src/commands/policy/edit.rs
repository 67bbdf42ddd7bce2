//! `pegboard policy set` and `unset`.

use std::path::PathBuf;

use pegboard::Configuration;
use pegboard_config::edit::set_rule;
use pegboard_model::{Layer, Policy, Reason, ServerName, ToolError, UntrustedText};

use super::args::{PolicySetArgs, PolicyUnsetArgs};
use crate::commands::{CommandResult, Global, Output, load_config, server_name};
use crate::failure::Failure;

pub(super) fn set(args: &PolicySetArgs, global: &Global, output: &Output) -> CommandResult {
    let (server, file) = target(args.server.as_deref(), args.in_project, global, output)?;
    let policy = Policy::from(args.policy);
    set_rule(&file, server.as_ref(), &args.pattern, Some(policy))?;
    let of = server.map_or(String::new(), |server| format!(" of server `{server}`"));
    output.note(&format!(
        "set `{}`{of} to `{}` in {}",
        UntrustedText::new(&args.pattern),
        policy.as_str(),
        file.display()
    ));
    Ok(())
}

pub(super) fn unset(args: &PolicyUnsetArgs, global: &Global, output: &Output) -> CommandResult {
    let (server, file) = target(args.server.as_deref(), args.in_project, global, output)?;
    if !set_rule(&file, server.as_ref(), &args.pattern, None)? {
        let pattern = UntrustedText::new(&args.pattern);
        let message = format!("no rule for `{pattern}` in `{}`", file.display());
        return Err(ToolError::new(Reason::ToolUnknown, message)
            .with_remedy("List the rules with `pegboard policy list`.")
            .into());
    }
    output.note(&format!(
        "removed the rule for `{}` from {}",
        UntrustedText::new(&args.pattern),
        file.display()
    ));
    Ok(())
}

/// Returns the server and the file of a rule: the file that defines the server, the project's, or the user's.
fn target(
    server: Option<&str>,
    in_project: bool,
    global: &Global,
    output: &Output,
) -> Result<(Option<ServerName>, PathBuf), Failure> {
    let configuration = load_config(global, output)?;
    let loaded = &configuration.loaded;
    let Some(server) = server else {
        return Ok((None, file_for_all(in_project, &configuration)?));
    };
    let name = server_name(server, &configuration)?;
    let file = loaded
        .servers
        .get(&name)
        .and_then(|spec| spec.origin.file.clone());
    match file {
        Some(file) => Ok((Some(name), file)),
        None => {
            let message = format!("server `{name}` is not defined in a file");
            let remedy =
                format!("Set a rule for all servers: `pegboard policy set '{name}/TOOL' ask`.");
            Err(Failure::usage(message, remedy))
        }
    }
}

fn file_for_all(in_project: bool, configuration: &Configuration) -> Result<PathBuf, Failure> {
    if !in_project {
        return Ok(configuration.loaded.edit_target.clone());
    }
    let Some(project) = &configuration.loaded.project else {
        let remedy = "Change to a directory with `.pegboard` or `.mcp.json`, or use `--project`.";
        return Err(Failure::usage("not in a project", remedy));
    };
    let files = configuration.loaded.files.iter();
    let own = files.filter(|file| file.layer == Layer::Project);
    let own = own
        .map(|file| &file.path)
        .find(|path| path.file_name().is_some_and(|name| name != ".mcp.json"));
    Ok(own
        .cloned()
        .unwrap_or_else(|| project.join(".pegboard/config.toml")))
}
