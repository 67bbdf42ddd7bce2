//! `pegboard up`: serves clients until stopped, and offers the example server if none is configured.

use pegboard_config::builtin_server;
use pegboard_config::edit::{NewServer, NewTransport, add_server};
use pegboard_hub::RefreshScope;
use pegboard_model::ServerName;

use super::serve::{listen, print_statistics, serve};
use super::{CommandResult, Global, Output, configured, open, open_unread, options, serving};
use crate::cli::args::UpArgs;
use crate::cli::failure::Failure;
use crate::cli::prompts::{can_ask, confirm};
use crate::{Configured, Options};

/// The command that runs the built-in server.
const EXAMPLE_COMMAND: &str = "example-server";

pub(crate) fn run(args: UpArgs, global: &Global, output: &Output) -> CommandResult {
    let mut configured = configured(global, output)?;
    let mut options = options(global);
    options.metrics = true;
    if configured.loaded.servers.is_empty() && configured.loaded.broken.is_empty() {
        offer_example(&args, &mut configured, &mut options, output)?;
    }
    serving(async {
        if args.once {
            let pegboard = open(configured, options, output).await?;
            print_statistics(&pegboard, output);
            let refreshed = pegboard.hub().refresh(RefreshScope::All, false).await;
            pegboard.close().await;
            return super::refresh::print(&refreshed?, output);
        }
        let listening = listen(&args.serve, &configured.loaded.settings, output).await?;
        let pegboard = open_unread(configured, options, output)?;
        let result = serve(&pegboard, listening, &args.serve, true, output).await;
        pegboard.close().await;
        result
    })
}

/// Adds the built-in example server to the config file, or uses it for this run only.
fn offer_example(
    args: &UpArgs,
    configured: &mut Configured,
    options: &mut Options,
    output: &Output,
) -> CommandResult {
    let program = std::env::current_exe().map(|path| path.display().to_string());
    let program = program.unwrap_or_else(|_| "pegboard".to_owned());
    let name = ServerName::parse("example")
        .map_err(|bad| Failure::usage(bad.to_string(), "Please report this as a bug."))?;
    let command = program.clone();
    let transport = NewTransport::Stdio {
        command,
        args: vec![EXAMPLE_COMMAND.to_owned()],
    };
    let server = NewServer {
        description: Some("Small built-in tools to try things with".to_owned()),
        ..NewServer::new(name.clone(), transport)
    };
    let file = configured.loaded.edit_target.clone();
    let question = format!(
        "No server is configured. Add the example server to {}?",
        file.display()
    );
    if args.example || (can_ask() && confirm(&question, true)) {
        add_server(&file, &server, false)?;
        output.note(&format!("wrote server `example` to {}", file.display()));
        configured.loaded = configured.read_again();
    } else {
        output.note("No server is configured; using the built-in example server for this run.");
        output.note("Add your own with `pegboard add NAME -- COMMAND`, or add this one with `pegboard up --example`.");
        let settings = &configured.loaded.settings;
        let spec = builtin_server(
            name,
            &program,
            &[EXAMPLE_COMMAND],
            settings,
            &configured.key,
        );
        options.extra_servers.push(spec);
    }
    Ok(())
}
