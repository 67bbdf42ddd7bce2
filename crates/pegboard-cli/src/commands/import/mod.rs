//! `pegboard import`: takes over the servers of other MCP clients.

pub(super) mod choose;
pub(super) mod show;

use clap::{Args, ValueEnum};
use pegboard::Configuration;
use pegboard_config::clients::{
    ApplyOptions, CLIENTS, ImportPlan, ImportReport, Places, ResultState, SecretMode, Selection,
};
use pegboard_model::{Reason, ServerName, ToolError, UntrustedText};
use serde::Serialize;

use super::discover_now::discover;
use super::{CommandResult, Global, Output, load_config};
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts::can_ask;

pub(crate) const EXAMPLES: &str = "Examples:\n  pegboard import\n  pegboard import --dry-run\n  \
    pegboard import cursor claude-code --yes\n  pegboard import --server github --secrets store\n  \
    pegboard import --json | jq '.plan.servers[].name'\n\n\
    The clients' files are never changed. A project's servers are imported only if you name them, their client or \
    `--project-servers`, and they need `pegboard trust` before they run.";

#[derive(Args)]
pub(crate) struct ImportArgs {
    /// Import only from these clients, for example `cursor` [default: all]
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,
    /// Import only this server, by its name in the client's file or in Pegboard; can be repeated
    #[arg(long = "server", value_name = "NAME")]
    servers: Vec<String>,
    /// Import all new servers of yours, or all that are named, without asking
    #[arg(long, short, visible_alias = "all")]
    yes: bool,
    /// Also import the servers of the current project's files
    #[arg(long)]
    project_servers: bool,
    /// Show what would be imported and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// What to do with values that look like secrets
    #[arg(long, value_enum, value_name = "WHAT")]
    secrets: Option<Secrets>,
    /// Do not start the imported servers to discover their tools
    #[arg(long)]
    no_discover: bool,
}

impl ImportArgs {
    /// The command that imports what these arguments select.
    fn repeated(&self) -> String {
        let mut words = vec!["pegboard import".to_owned()];
        words.extend(self.clients.iter().cloned());
        for server in &self.servers {
            words.push(format!("--server {}", pegboard_config::quoted_word(server)));
        }
        if self.project_servers {
            words.push("--project-servers".to_owned());
        }
        words.push("--yes".to_owned());
        words.join(" ")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Secrets {
    /// Move them into the secret store and write references (default)
    Store,
    /// Write them into the config file as they are
    Keep,
    /// Do not import servers with such values
    Refuse,
}

#[derive(Serialize)]
struct Document<'a> {
    plan: &'a ImportPlan,
    /// `null` if nothing was requested.
    report: Option<&'a ImportReport>,
}

pub(crate) fn run(args: &ImportArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    check_clients(args)?;
    let plan = scan(&configuration);
    let mut selection = Selection::default();
    selection.clients.clone_from(&args.clients);
    selection.servers.clone_from(&args.servers);
    selection.project_servers = args.project_servers;
    check_servers(&selection, &plan)?;
    let mut options = ApplyOptions::default();
    options.secrets = match args.secrets {
        None | Some(Secrets::Store) => SecretMode::Store,
        Some(Secrets::Keep) => SecretMode::Keep,
        Some(Secrets::Refuse) => SecretMode::Refuse,
    };
    if !output.json {
        show::plan(&plan, &selection, &configuration.environment.home, output)?;
    }
    let wants = match (args.yes, args.dry_run || output.json || !can_ask()) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => choose::ask(&plan, &mut selection, &mut options, args.secrets.is_none()),
    };
    if !wants {
        return shown_only(&plan, &selection, args, output);
    }
    let report = plan.apply(&selection, &options, &configuration.secrets())?;
    if output.json {
        let report = Some(&report);
        output.document(&Document {
            plan: &plan,
            report,
        })?;
    } else {
        show::report(&report, &configuration.environment.home, output)?;
    }
    let discovered = match args.no_discover || output.json {
        true => Ok(()),
        false => discover_written(configuration, &report, global, output),
    };
    if report.written().next().is_some() && !output.json {
        output.note("Next: connect your clients to Pegboard with `pegboard connect`.");
    }
    match report.has_failures() {
        true => Err(Failure::shown(Reason::ConfigInvalid.exit_code())),
        false => discovered,
    }
}

/// Reads the clients' files.
pub(super) fn scan(configuration: &Configuration) -> ImportPlan {
    let mut places = Places::new(&configuration.environment);
    if let Some(project) = &configuration.loaded.project {
        places.project.clone_from(project);
    }
    ImportPlan::scan(&places, &configuration.loaded, &configuration.secrets())
}

/// Ends the command without an import.
fn shown_only(
    plan: &ImportPlan,
    selection: &Selection,
    args: &ImportArgs,
    output: &Output,
) -> CommandResult {
    if output.json {
        return output.document(&Document { plan, report: None });
    }
    let count = plan
        .importable()
        .filter(|server| selection.contains(server))
        .count();
    if count > 0 && (args.dry_run || !can_ask()) {
        let servers = show::count(count, "server");
        let command = args.repeated();
        output.note(&format!(
            "Nothing was written. Import {servers} with `{command}`."
        ));
    }
    Ok(())
}

/// Discovers the servers that run without a trust review. Disabled and invalid ones are left out.
fn discover_written(
    mut configuration: Configuration,
    report: &ImportReport,
    global: &Global,
    output: &Output,
) -> CommandResult {
    configuration.reload();
    let loaded = &configuration.loaded;
    let is_ready = |name: &&ServerName| loaded.servers.get(*name).is_some_and(|spec| spec.enabled);
    let written = report.written().filter(|result| !result.needs_trust);
    let names = written.filter_map(|result| result.name.as_ref());
    let names: Vec<ServerName> = names.filter(is_ready).cloned().collect();
    match names.is_empty() {
        true => Ok(()),
        false => discover(&names, configuration, global, output),
    }
}

fn check_clients(args: &ImportArgs) -> CommandResult {
    for given in &args.clients {
        if pegboard_config::clients::client(given).is_none() {
            let message = format!("no client `{}` is known", UntrustedText::new(given));
            let keys: Vec<&str> = CLIENTS.iter().map(|client| client.key).collect();
            let remedy = format!("Known clients: {}.", keys.join(", "));
            return Err(Failure::usage(message, remedy));
        }
    }
    Ok(())
}

fn check_servers(selection: &Selection, plan: &ImportPlan) -> CommandResult {
    for name in &selection.servers {
        let mut one = selection.clone();
        one.servers = vec![name.clone()];
        if !plan.servers.iter().any(|server| one.contains(server)) {
            let name = UntrustedText::new(name);
            let message = format!("no file of the selected clients defines a server `{name}`");
            let error = ToolError::new(Reason::ServerUnknown, message);
            return Err(error
                .with_remedy("List them with `pegboard import --dry-run`.")
                .into());
        }
    }
    Ok(())
}

/// The color of a result.
fn paint(state: ResultState) -> Paint {
    match state {
        ResultState::Written => Paint::Good,
        ResultState::Failed => Paint::Bad,
        _ => Paint::Dim,
    }
}
