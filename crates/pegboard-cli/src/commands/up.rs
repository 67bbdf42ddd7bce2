//! `pegboard up`: serves clients until stopped, and offers the example server if none is configured.

use clap::Args;
use pegboard::{Builder, Configuration, Server};
use pegboard_config::edit::{NewServer, NewTransport, add_server};
use pegboard_hub::RefreshScope;
use pegboard_model::ServerName;

use super::serve::{ServeArgs, Started, StopCondition, listen, print_statistics, serve};
use super::{CommandResult, Global, Output, builder, import, load_config, open, serving, setup};
use crate::background::Foreground;
use crate::failure::Failure;
use crate::format::count;
use crate::prompts::{can_ask, confirm};

#[derive(Args)]
pub(crate) struct UpArgs {
    /// Add the built-in example server to the config file if no server is configured
    #[arg(long)]
    pub(crate) example: bool,
    /// Discover every server once, then exit
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// The command that runs the built-in server.
const EXAMPLE_COMMAND: &str = "example-server";

pub(crate) fn run(args: UpArgs, global: &Global, output: &Output) -> CommandResult {
    let mut configuration = load_config(global, output)?;
    let mut builder = builder(global).metrics();
    if configuration.loaded.servers.is_empty() && configuration.loaded.broken.is_empty() {
        let plan = (!args.example).then(|| import::scan(&configuration));
        let (servers, clients) = plan.as_ref().map_or((0, 0), setup::found);
        let found = format!(
            "Found {} in {}.",
            count(servers, "server"),
            count(clients, "client")
        );
        let wants_setup =
            servers > 0 && can_ask() && confirm(&format!("{found} Bring them in?"), true);
        if let Some(plan) = plan.filter(|_| wants_setup) {
            let own = super::builder(global).load()?;
            // What failed was reported; the servers that were imported are served.
            if let Err(failure) = setup::guide(own, &plan, global, output) {
                failure.show(output);
            }
            configuration.reload();
        } else if servers > 0 {
            output.note(&format!("{found} Bring them in with `pegboard setup`."));
        }
    }
    if configuration.loaded.servers.is_empty() && configuration.loaded.broken.is_empty() {
        builder = offer_example(&args, &mut configuration, builder, output)?;
    }
    serving(async {
        if args.once {
            let pegboard = open(configuration, builder, output).await?;
            print_statistics(&pegboard, output);
            let refreshed = pegboard.hub().refresh(RefreshScope::All, false).await;
            pegboard.close().await;
            return super::refresh::print(&refreshed?, output);
        }
        let (settings, state) = (&configuration.loaded.settings, configuration.state.path());
        let listening = listen(&args.serve, settings, state, output).await?;
        let foreground = Foreground::new(global, &configuration, output);
        let started = Started::open(configuration, builder, foreground, output)?;
        let stop = StopCondition::Interrupted;
        serve(started, listening, &args.serve, true, stop, output).await
    })
}

/// Adds the built-in example server to the config file, or uses it for this run only.
fn offer_example(
    args: &UpArgs,
    configuration: &mut Configuration,
    builder: Builder,
    output: &Output,
) -> Result<Builder, Failure> {
    let program = std::env::current_exe().map(|path| path.display().to_string());
    let program = program.unwrap_or_else(|_| "pegboard".to_owned());
    let name = ServerName::parse("example")
        .map_err(|bad| Failure::usage(bad.to_string(), "Please report this as a bug."))?;
    let transport = NewTransport::Stdio {
        command: program.clone(),
        args: vec![EXAMPLE_COMMAND.to_owned()],
    };
    let server = NewServer {
        description: Some("Small built-in tools to try things with".to_owned()),
        ..NewServer::new(name, transport)
    };
    let file = configuration.loaded.edit_target.clone();
    let question = format!(
        "No server is configured. Add the example server to {}?",
        file.display()
    );
    if args.example || (can_ask() && confirm(&question, true)) {
        add_server(&file, &server, false)?;
        output.note(&format!("wrote server `example` to {}", file.display()));
        configuration.reload();
        return Ok(builder);
    }
    output.note("No server is configured; using the built-in example server for this run.");
    output.note("Add your own with `pegboard add NAME -- COMMAND`, bring in those of other clients with `pegboard setup`, or add this one with `pegboard up --example`.");
    Ok(builder.server(Server::stdio("example", program).arg(EXAMPLE_COMMAND)))
}
