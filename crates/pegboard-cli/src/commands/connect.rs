//! `pegboard connect`: writes Pegboard into the config files of clients, and shows the state of all clients.

use std::path::{Path, PathBuf};

use clap::Args;
use pegboard::Configuration;
use pegboard::dashboard::own_variables;
use pegboard_config::clients::{
    CLIENTS, Client, ClientStatus, ConnectOptions, ConnectPlan, ConnectionState, EntryToken,
    EntryTransport, ImportPlan, Launch, Places, StatusOptions, TakeOver, connection_status,
    is_same_server,
};
use pegboard_config::{DEFAULT_PORT, NormalizedName};
use pegboard_gateway::http::token;
use pegboard_model::{Reason, ToolError, TrustState, UntrustedText};
use serde::Serialize;
use serde_json::Value;

use super::{CommandResult, Global, Output, load_config};
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts::{ask, can_ask, confirm};

#[derive(Args)]
pub(crate) struct ConnectArgs {
    /// The clients, such as `claude-code`; `--status` lists them all
    #[arg(value_name = "CLIENT")]
    clients: Vec<String>,
    /// Connect every installed client
    #[arg(long, conflicts_with = "clients")]
    all: bool,
    /// Show how each client reaches its servers, and change nothing
    #[arg(long, conflicts_with_all = ["all", "http", "take_over", "dry_run", "yes", "replace", "file"])]
    status: bool,
    /// Connect to a running `pegboard up` by URL instead of starting Pegboard
    #[arg(long)]
    http: bool,
    /// The URL for `--http` [default: http://127.0.0.1:PORT/mcp]
    #[arg(long, value_name = "URL", requires = "http")]
    url: Option<String>,
    /// Refer to the token by this environment variable instead of writing it
    #[arg(long, value_name = "NAME", requires = "http")]
    token_variable: Option<String>,
    /// The profile that the client gets
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Take servers that Pegboard has out of the client: all of them, or the named ones
    #[arg(long, value_name = "SERVER", num_args = 0..=1, value_delimiter = ',', default_missing_value = "", require_equals = true)]
    take_over: Option<Vec<String>>,
    /// Let the client confirm every call, where `connect` would turn that off (Codex)
    #[arg(long)]
    confirm_calls: bool,
    /// Replace an entry for Pegboard that `connect` did not write
    #[arg(long)]
    replace: bool,
    /// Write this file instead of the client's usual one
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Show the changes and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Write without asking
    #[arg(long, short)]
    yes: bool,
}

/// The result for one client, with `--json`.
#[derive(Serialize)]
struct ClientResult<'a> {
    client: &'a str,
    file: &'a std::path::Path,
    result: &'static str,
    diff: String,
    taken_out: &'a [String],
    direct: &'a [String],
}

pub(crate) fn run(args: &ConnectArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let places = Places::new(&configuration.environment);
    let launch = launch(&configuration);
    let options = StatusOptions::new(Some(launch.command.clone()), port(&configuration));
    let state_dir = &configuration.paths.state_dir;
    let statuses = connection_status(&places, state_dir, &options)?;
    if args.status {
        return show_status(args, &statuses, output);
    }
    let clients = chosen(args, &statuses, output)?;
    if clients.len() > 1 && args.file.is_some() {
        let message = "`--file` names one file, but several clients are given";
        return Err(Failure::usage(message, "Name one client."));
    }
    if let (false, Some(warning)) = (args.http, &launch.warning) {
        output.note(&format!(
            "{} {warning}",
            output.paint(Paint::Warn, "warning:")
        ));
    }
    check_profile(args, &configuration)?;
    let importable = super::import::scan(&configuration);
    let mut results = Vec::new();
    let mut failed = None;
    for client in clients {
        let status = statuses.iter().find(|status| status.client == client.key);
        let file = status.and_then(|status| status.file.as_deref());
        let file = file.filter(|_| args.file.is_none());
        let has_server = |name: &str, entry: &Value| {
            has_server((client, file), name, entry, &importable, &configuration)
        };
        match connect(
            client,
            args,
            &configuration,
            &launch,
            &places,
            &has_server,
            output,
        ) {
            Ok(result) => results.push(result),
            // One client that cannot be connected does not keep the others from it.
            Err(failure) => {
                failure.show(output);
                failed.get_or_insert(Failure::shown(failure.exit));
            }
        }
    }
    if output.json {
        let shown: Vec<_> = results
            .iter()
            .map(|(plan, result)| ClientResult {
                client: plan.client.key,
                file: &plan.path,
                result,
                diff: plan.diff(),
                taken_out: &plan.taken_out,
                direct: &plan.direct,
            })
            .collect();
        output.document(&shown)?;
    }
    failed.map_or(Ok(()), Err)
}

/// The port of Pegboard's own endpoint, if it is configured.
pub(super) fn port(configuration: &Configuration) -> Option<u16> {
    configuration.loaded.settings.port
}

/// How clients start this program.
pub(super) fn launch(configuration: &Configuration) -> Launch {
    let environment = &configuration.environment;
    let variables = own_variables(environment, &configuration.paths);
    let program = std::env::current_exe().unwrap_or_else(|_| "pegboard".into());
    Launch::new(&program, env!("CARGO_PKG_VERSION"), environment, variables)
}

/// Finds a client by its key or name.
pub(super) fn find_client(text: &str) -> Result<&'static Client, Failure> {
    let is_named = |client: &&Client| {
        client.key.eq_ignore_ascii_case(text) || client.name.eq_ignore_ascii_case(text)
    };
    if let Some(client) = CLIENTS.iter().find(is_named) {
        return Ok(client);
    }
    let message = format!(
        "no client `{}` is known",
        UntrustedText::new(text).shortened(60)
    );
    let mut near: Vec<(f64, &str)> = CLIENTS
        .iter()
        .map(|client| {
            (
                strsim::jaro_winkler(client.key, &text.to_lowercase()),
                client.key,
            )
        })
        .filter(|(similarity, _)| *similarity > 0.75)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near = near.into_iter().take(3).map(|(_, key)| key.to_owned());
    Err(ToolError::new(Reason::ConfigInvalid, message)
        .with_remedy("`pegboard connect --status` lists all clients.")
        .with_nearest(near.collect())
        .into())
}

/// The clients that the user named, or chooses from the installed ones.
fn chosen(
    args: &ConnectArgs,
    statuses: &[ClientStatus],
    output: &Output,
) -> Result<Vec<&'static Client>, Failure> {
    if !args.clients.is_empty() {
        return args.clients.iter().map(|name| find_client(name)).collect();
    }
    let installed = statuses
        .iter()
        .filter(|status| status.can_connect && status.state != ConnectionState::NotInstalled);
    let installed: Vec<&ClientStatus> = installed.collect();
    if installed.is_empty() {
        output
            .note("No installed client was found. Name one, as in `pegboard connect claude-code`.");
        return Ok(Vec::new());
    }
    let keys = |statuses: &[&ClientStatus]| -> Result<Vec<_>, Failure> {
        statuses
            .iter()
            .map(|status| find_client(status.client))
            .collect()
    };
    if args.all {
        return keys(&installed);
    }
    if !can_ask() || output.json {
        return Err(Failure::usage(
            "no client is named",
            "Name clients, as in `pegboard connect claude-code cursor --yes`, or use `--all`.",
        ));
    }
    output.always_note("Installed clients:");
    for (number, status) in installed.iter().enumerate() {
        let state = status.state.as_str();
        output.always_note(&format!("  {}  {} ({state})", number + 1, status.name));
    }
    let answer = ask("Connect which? Numbers or names, `all`, or nothing: ").unwrap_or_default();
    if answer == "all" {
        return keys(&installed);
    }
    let words = answer.split([',', ' ']).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let number = word.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
            let numbered = number.and_then(|at| installed.get(at));
            find_client(numbered.map_or(word, |status| status.client))
        })
        .collect()
}

/// Whether Pegboard has a server of a client and can run it: one with the same definition, whatever its name, or in a
/// file that `import` does not know, one of the same name too.
fn has_server(
    (client, file): (&Client, Option<&Path>),
    name: &str,
    entry: &Value,
    importable: &ImportPlan,
    configuration: &Configuration,
) -> bool {
    let found = file.and_then(|file| importable.configured_server(client.key, file, name));
    let named = NormalizedName::parse(name).ok().map(|name| name.name);
    let servers = &configuration.loaded.servers;
    // Only an explicitly named file may be unknown to the import, which compares everything.
    let named = named.as_ref().filter(|_| file.is_none());
    let server = found.or(named).and_then(|name| servers.get(name));
    server.is_some_and(|server| {
        let is_running = server.enabled && server.trust_state == TrustState::Granted;
        is_running && is_same_server(&server.transport, entry)
    })
}

/// Refuses a profile that does not exist: the client would only see a server that does not start.
fn check_profile(args: &ConnectArgs, configuration: &Configuration) -> CommandResult {
    let profiles = &configuration.loaded.profiles;
    let Some(name) = args
        .profile
        .as_ref()
        .filter(|name| !profiles.contains_key(*name))
    else {
        return Ok(());
    };
    let message = format!(
        "profile `{}` does not exist",
        UntrustedText::new(name).shortened(60)
    );
    let error = ToolError::new(Reason::ProfileUnknown, message);
    let names: Vec<String> = profiles.keys().cloned().collect();
    Err(error.with_nearest(names).into())
}

/// Plans, shows and writes the change to one client's file.
fn connect(
    client: &'static Client,
    args: &ConnectArgs,
    configuration: &Configuration,
    launch: &Launch,
    places: &Places<'_>,
    has_server: &dyn Fn(&str, &Value) -> bool,
    output: &Output,
) -> Result<(ConnectPlan, &'static str), Failure> {
    let options = options(client, args, configuration, launch)?;
    let state_dir = &configuration.paths.state_dir;
    let plan = ConnectPlan::new(places, state_dir, client, &options, has_server)?;
    if plan.is_connected() {
        let file = plan.path.display();
        output.note(&format!("{} is connected already ({file})", client.name));
        return Ok((plan, "unchanged"));
    }
    if !output.json {
        show_plan(&plan, output)?;
    }
    if args.dry_run {
        return Ok((plan, "planned"));
    }
    if !args.yes && !confirm_plan(&plan, output)? {
        return Ok((plan, "refused"));
    }
    plan.apply()?;
    report(&plan, &options, output);
    Ok((plan, "connected"))
}

/// Prints the change to a client's file.
pub(super) fn show_plan(plan: &ConnectPlan, output: &Output) -> CommandResult {
    let title = format!("{} ({})", plan.client.name, plan.path.display());
    output.line(&output.paint(Paint::Strong, &title))?;
    show_diff(&plan.diff(), output)
}

/// Asks whether a change is written.
pub(super) fn confirm_plan(plan: &ConnectPlan, output: &Output) -> Result<bool, Failure> {
    let name = plan.client.name;
    if !can_ask() || output.json {
        return Err(Failure::usage(
            format!("{name} was not connected, because no terminal can confirm the change"),
            "Add `--yes` to write it.",
        ));
    }
    let is_confirmed = confirm(&format!("Write {}?", plan.path.display()), true);
    if !is_confirmed {
        output.note(&format!("{name} was not connected"));
    }
    Ok(is_confirmed)
}

fn options(
    client: &Client,
    args: &ConnectArgs,
    configuration: &Configuration,
    launch: &Launch,
) -> Result<ConnectOptions, Failure> {
    let transport = match args.http {
        false => EntryTransport::Stdio {
            launch: launch.clone(),
            profile: args.profile.clone(),
        },
        true => {
            let port = port(configuration).unwrap_or(DEFAULT_PORT);
            let url = args.url.clone();
            let mut url = url.unwrap_or_else(|| format!("http://127.0.0.1:{port}/mcp"));
            if let Some(profile) = &args.profile {
                url = format!("{}/{profile}", url.trim_end_matches('/'));
            }
            let needs_variable = client
                .entry
                .and_then(|form| form.http)
                .is_some_and(|http| http.token_variable.is_some());
            let variable = match needs_variable {
                true => Some("PEGBOARD_TOKEN".to_owned()),
                false => None,
            };
            let token = match args.token_variable.clone().or(variable) {
                Some(name) => EntryToken::Variable(name),
                None => EntryToken::Value(token(configuration.state.path())?),
            };
            EntryTransport::Http {
                url,
                token: Some(token),
            }
        }
    };
    let mut options = ConnectOptions::new(transport);
    options.take_over = match &args.take_over {
        None => TakeOver::None,
        Some(names) if names.iter().all(String::is_empty) => TakeOver::All,
        Some(names) => TakeOver::Names(names.iter().cloned().collect()),
    };
    options.approves_calls = !args.confirm_calls;
    options.replaces = args.replace;
    options.file.clone_from(&args.file);
    options.port = port(configuration);
    Ok(options)
}

/// Says what was done, and what the user has to do.
fn report(plan: &ConnectPlan, options: &ConnectOptions, output: &Output) {
    let name = plan.client.name;
    let good = output.paint(Paint::Good, "connected");
    output.note(&format!("{good} {name}; restart it to use Pegboard"));
    let names = |names: &[String]| {
        let shown = names
            .iter()
            .map(|name| UntrustedText::new(name).shortened(60).to_string());
        shown.collect::<Vec<_>>().join(", ")
    };
    if !plan.taken_out.is_empty() {
        output.note(&format!(
            "  now through Pegboard only: {}",
            names(&plan.taken_out)
        ));
    }
    if !plan.direct.is_empty() {
        let advice = match options.take_over {
            TakeOver::None => format!(
                "; `pegboard import {key}` and `pegboard connect {key} --take-over` move them",
                key = plan.client.key
            ),
            _ => "; Pegboard does not have them, or not with the same definition".to_owned(),
        };
        output.note(&format!("  still direct: {}{advice}", names(&plan.direct)));
    }
    if let EntryTransport::Http { token, .. } = &options.transport {
        output.note("  `pegboard up` must run while the client is used");
        if let Some(EntryToken::Variable(name)) = token {
            output.note(&format!(
                "  set {name} to the output of `pegboard token` for the client"
            ));
        }
    }
    let approval = plan.client.entry.and_then(|form| form.approval);
    if approval.is_some() && options.approves_calls {
        output.note(&format!(
            "  {name} runs Pegboard's tools without asking, because it cannot ask in `exec`; Pegboard's policies apply. `--confirm-calls` changes that"
        ));
    }
    output.note(&format!(
        "  undo with `pegboard disconnect {}`",
        plan.client.key
    ));
}

/// Prints a diff, with colors for added and removed lines.
pub(super) fn show_diff(diff: &str, output: &Output) -> CommandResult {
    for line in diff.lines() {
        let paint = match line.as_bytes().first() {
            Some(b'+') => Paint::Good,
            Some(b'-') => Paint::Bad,
            Some(b'@') => Paint::Dim,
            _ => {
                output.line(line)?;
                continue;
            }
        };
        output.line(&output.paint(paint, line))?;
    }
    Ok(())
}

fn show_status(args: &ConnectArgs, statuses: &[ClientStatus], output: &Output) -> CommandResult {
    let named: Result<Vec<_>, _> = args.clients.iter().map(|name| find_client(name)).collect();
    let named = named?;
    let is_wanted = |status: &&ClientStatus| {
        named.is_empty() || named.iter().any(|client| client.key == status.client)
    };
    let wanted: Vec<&ClientStatus> = statuses.iter().filter(is_wanted).collect();
    if output.json {
        return output.document(&wanted);
    }
    let rows = wanted.iter().map(|status| {
        let file = status
            .file
            .as_ref()
            .filter(|_| status.state != ConnectionState::NotInstalled);
        vec![
            status.client.to_owned(),
            painted(status.state, output),
            status.direct.len().to_string(),
            notes(status),
            file.map_or_else(String::new, |file| file.display().to_string()),
        ]
    });
    let header = ["CLIENT", "STATE", "DIRECT", "NOTES", "FILE"];
    output.line(&output.table(&header, rows.collect(), 4))?;
    for status in &wanted {
        if let Some(problem) = &status.problem {
            output.note(&format!("{}: {problem}", status.name));
        }
    }
    Ok(())
}

fn painted(state: ConnectionState, output: &Output) -> String {
    let paint = match state {
        ConnectionState::ThroughPegboard => Paint::Good,
        ConnectionState::Both => Paint::Warn,
        ConnectionState::Unreadable => Paint::Bad,
        ConnectionState::NotInstalled => Paint::Dim,
        _ => return state.as_str().to_owned(),
    };
    output.paint(paint, state.as_str())
}

fn notes(status: &ClientStatus) -> String {
    let mut notes = Vec::new();
    if !status.can_connect {
        notes.push("import only");
    }
    if let Some(entry) = &status.entry {
        notes.push(entry.transport);
        if entry.is_missing {
            notes.push("program is missing");
        } else if entry.is_other_program {
            notes.push("another program");
        }
        if !status.has_record {
            notes.push("not by `connect`");
        }
    }
    notes.join(", ")
}
