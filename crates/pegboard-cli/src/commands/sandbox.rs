//! `pegboard sandbox try`: runs a server in a sandbox and proposes a `sandbox` from what it was refused.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use pegboard_hub::{CallRequest, RefreshScope, SessionId};
use pegboard_model::{
    Reason, Sandbox, SandboxMode, SandboxNetwork, ServerName, ToolError, UntrustedText,
};
use pegboard_store::StateDir;
use pegboard_upstream::{SandboxTrial, denied_paths, sandbox_facts};

use super::call::TerminalApprover;
use super::sandbox_proposal::{Proposal, proposal};
use super::{
    CommandResult, Global, Output, builder, load_config, open, server_name, with_servers, working,
};
use crate::failure::Failure;
use crate::output::Paint;

/// How often a server is started again with what it was refused.
const ROUNDS: usize = 6;

#[derive(Subcommand)]
pub(crate) enum SandboxCommand {
    /// Start a server in a sandbox, discover its tools, and propose its `sandbox`; changes nothing
    #[command(
        after_help = "Examples:\n  pegboard sandbox try github\n  pegboard sandbox try files --mode strict\n  \
        pegboard sandbox try files --call list_directory '{\"path\": \"/tmp\"}'\n\n\
        Paths come from errors that the server writes to standard error, hosts from its connections through \
        Pegboard's proxy. What the server does not report is not found."
    )]
    Try(TryArgs),
}

#[derive(Args)]
pub(crate) struct TryArgs {
    /// The server
    pub(crate) server: String,
    /// The mode to try [default: that of the server, or default]
    #[arg(long, value_enum)]
    pub(crate) mode: Option<TriedMode>,
    /// Call this tool as well, with the arguments that follow as JSON
    #[arg(long, num_args = 1..=2, value_names = ["TOOL", "ARGUMENTS"])]
    pub(crate) call: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TriedMode {
    Default,
    Strict,
}

/// What happened in one round.
struct Round {
    outcome: Result<usize, ToolError>,
    stderr: String,
}

pub(crate) fn run(command: &SandboxCommand, global: &Global, output: &Output) -> CommandResult {
    let SandboxCommand::Try(args) = command;
    let configuration = load_config(global, output)?;
    let name = server_name(&args.server, &configuration)?;
    let Some(spec) = configuration.loaded.servers.get(&name) else {
        return Ok(());
    };
    if spec.transport.kind() != "stdio" {
        let message = format!("server `{name}` runs at a URL and not on this machine");
        let error = ToolError::new(Reason::ConfigInvalid, message).at_server(&name);
        return Err(error
            .with_remedy("A sandbox confines servers with a `command`.")
            .into());
    }
    let mut sandbox = spec.sandbox.clone();
    sandbox.mode = match args.mode {
        Some(TriedMode::Default) => SandboxMode::Default,
        Some(TriedMode::Strict) => SandboxMode::Strict,
        None => sandbox.mode.max(SandboxMode::Default),
    };
    let trial = Arc::new(SandboxTrial::default());
    let mut refused = Vec::new();
    let mut last = None;
    for _ in 0..ROUNDS {
        let round = try_once(&name, &sandbox, args, &trial, global, output)?;
        let denied = denied_paths(&round.stderr);
        let mut is_more = false;
        for denied in denied {
            let path = PathBuf::from(&denied.path);
            let list = match denied.is_change {
                true => &mut sandbox.write,
                false => &mut sandbox.read,
            };
            // A path that was refused although it was listed is protected.
            if !list.contains(&path) && path.is_absolute() {
                list.push(path);
                is_more = true;
            }
            if !refused.contains(&denied) {
                refused.push(denied);
            }
        }
        let is_done = !is_more;
        last = Some(round.outcome);
        if is_done {
            break;
        }
    }
    let hosts = trial.hosts();
    if matches!(sandbox.network, SandboxNetwork::On) || !hosts.is_empty() {
        sandbox.network = super::sandbox_proposal::network(&hosts);
    }
    let outcome = last.unwrap_or(Ok(0));
    let proposal = proposal(&name, &sandbox, &refused, hosts, &outcome);
    print(&proposal, &sandbox, output)?;
    match outcome {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::shown(error.reason.exit_code())),
    }
}

/// Starts the server once, with state of its own, so that the trial leaves no trace in the catalog.
fn try_once(
    name: &ServerName,
    sandbox: &Sandbox,
    args: &TryArgs,
    trial: &Arc<SandboxTrial>,
    global: &Global,
    output: &Output,
) -> Result<Round, Failure> {
    let mut configuration = builder(global).load()?;
    let parent = configuration.state.path().to_path_buf();
    let folder = tempfile::Builder::new().prefix("trial-").tempdir_in(parent);
    let folder = folder.map_err(|error| {
        let message = format!("the folder for the trial could not be created: {error}");
        ToolError::new(Reason::Internal, message)
    })?;
    configuration.state = StateDir::open(folder.path())?;
    configuration
        .loaded
        .servers
        .retain(|server, _| server == name);
    if let Some(spec) = configuration.loaded.servers.get_mut(name) {
        spec.sandbox = sandbox.clone();
        spec.enabled = true;
    }
    let logs = configuration.logs();
    let outcome = working(async {
        let builder = builder(global)
            .approver(TerminalApprover { yes: false })
            .sandbox_trial(Arc::clone(trial));
        let pegboard = open(configuration, builder, output).await?;
        with_servers(pegboard, |hub| async move {
            Ok(exercise(&hub, name, args).await)
        })
        .await
    })?;
    let stderr = logs.read(name).unwrap_or_default();
    Ok(Round { outcome, stderr })
}

/// Discovers the server and makes the call. Returns the number of tools.
async fn exercise(
    hub: &pegboard_hub::Hub,
    name: &ServerName,
    args: &TryArgs,
) -> Result<usize, ToolError> {
    let outcomes = hub.refresh(RefreshScope::One(name.clone()), true).await?;
    let mut tools = 0;
    for outcome in outcomes {
        tools += outcome.result?.tools;
    }
    let mut words = args.call.iter();
    let Some(tool) = words.next() else {
        return Ok(tools);
    };
    let arguments = words.next().map_or("{}", String::as_str);
    let arguments =
        serde_json::value::RawValue::from_string(arguments.to_owned()).map_err(|error| {
            let message = format!("the arguments are not JSON: {error}");
            ToolError::new(Reason::ArgsInvalid, message)
        })?;
    let tool = match tool.contains('/') {
        true => tool.clone(),
        false => format!("{name}/{tool}"),
    };
    let mut request = CallRequest::new(SessionId("cli".to_owned()), tool, arguments);
    request.client = Some("cli".into());
    request.is_lasting = false;
    hub.call(&request).await?;
    Ok(tools)
}

fn print(proposal: &Proposal, sandbox: &Sandbox, output: &Output) -> CommandResult {
    if output.json {
        return output.document(proposal);
    }
    let mark = match proposal.ok {
        true => output.paint(Paint::Good, "✓"),
        false => output.paint(Paint::Bad, "✗"),
    };
    output.line(&format!("{mark} {}", proposal.outcome))?;
    for missing in sandbox_facts(sandbox).missing {
        let mark = output.paint(Paint::Warn, "!");
        output.line(&format!("{mark} not in force on this machine: {missing}"))?;
    }
    for path in &proposal.refused {
        output.line(&format!("  refused  {}", UntrustedText::new(path)))?;
    }
    for host in &proposal.hosts {
        output.line(&format!("  host     {}", UntrustedText::new(host)))?;
    }
    output.line("")?;
    output.line(&proposal.toml)
}
