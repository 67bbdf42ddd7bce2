//! `pegboard up`: the main job, until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use pegboard_config::edit::{NewServer, NewTransport, add_server};
use pegboard_config::{Problem, Severity, Watcher, builtin_server};
use pegboard_hub::{Hub, Which};
use pegboard_model::{Event, EventKind, Foreign, ServerName};
use tokio::sync::Notify;

use super::{Done, Global, Output, configured, interrupted, open, options, working};
use crate::cli::args::UpArgs;
use crate::cli::failure::Failure;
use crate::cli::output::Paint;
use crate::cli::people::{can_ask, confirm, count};
use crate::{Configured, Options, Pegboard};

/// How often stale marks and old lists are looked after.
const HOUSEKEEPING: Duration = Duration::from_secs(30);
/// The command that runs the built-in server.
const EXAMPLE_COMMAND: &str = "example-server";

pub(crate) fn run(args: UpArgs, global: &Global, output: &Output) -> Done {
    let mut configured = configured(global, output)?;
    let mut options = options(global);
    if configured.loaded.servers.is_empty() && configured.loaded.broken.is_empty() {
        offer_example(&args, &mut configured, &mut options, output)?;
    }
    let left = pegboard_upstream::sweep_orphans();
    if left > 0 {
        output.note(&format!(
            "ended {} that an earlier run left",
            count(left, "process")
        ));
    }
    working(async {
        let pegboard = open(configured, options, output).await?;
        let result = serve(&pegboard, args.once, output).await;
        pegboard.close().await;
        result
    })
}

/// With nothing configured there is still something to try: the built-in server.
fn offer_example(
    args: &UpArgs,
    configured: &mut Configured,
    options: &mut Options,
    output: &Output,
) -> Done {
    let program = std::env::current_exe().map(|path| path.display().to_string());
    let program = program.unwrap_or_else(|_| "pegboard".to_owned());
    let name = ServerName::parse("example")
        .map_err(|bad| Failure::usage(bad.to_string(), "Report this."))?;
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
        output.note("No server is configured; the built-in example server is used for this run.");
        output.note("Add your own with `pegboard add NAME -- COMMAND`, or keep this one with `pegboard up --example`.");
        let settings = &configured.loaded.settings;
        let spec = builtin_server(
            name,
            &program,
            &[EXAMPLE_COMMAND],
            settings,
            &configured.key,
        );
        options.more_servers.push(spec);
    }
    Ok(())
}

async fn serve(pegboard: &Pegboard, once: bool, output: &Output) -> Done {
    let hub = pegboard.hub();
    let events = hub.subscribe();
    let statistics = hub.catalog().statistics();
    let servers = count(statistics.servers.total, "server");
    output.note(&format!(
        "{} {servers}, {} known",
        output.paint(Paint::Strong, "pegboard"),
        count(statistics.tools, "tool")
    ));
    if once {
        return super::refresh::tell(&hub.refresh(Which::All, false).await?, output);
    }
    output.note("Press Ctrl-C to stop.");
    if !pegboard.configured().loaded.servers.is_empty() {
        output.note("`pegboard tools` and `pegboard call` work in another terminal.");
    }
    hub.session_started();
    let changed = Arc::new(Notify::new());
    let mut files = pegboard.configured().loaded.watch_list();
    let state = &pegboard.configured().paths.state_dir;
    // An agreement or a new secret value changes what may run as much as a config file does.
    files.extend(["agreements.json", "secrets.json"].map(|name| state.join(name)));
    let signal = changed.clone();
    let _watcher = Watcher::start(files, move || signal.notify_one())?;
    tokio::select! {
        () = tell_events(events, output) => {}
        () = keep_house(hub) => {}
        () = follow_config(pegboard, &changed, output) => {}
        () = interrupted() => {}
    }
    output.note("stopping");
    Ok(())
}

async fn keep_house(hub: &Hub) {
    let mut tick = tokio::time::interval(HOUSEKEEPING);
    loop {
        tick.tick().await;
        hub.mark_stale();
        hub.touch();
    }
}

/// Takes over each change of a config file. A file that cannot be read changes nothing, because it is
/// most likely half written; a mistake in one server costs only that server.
async fn follow_config(pegboard: &Pegboard, changed: &Notify, output: &Output) {
    loop {
        changed.notified().await;
        let loaded = pegboard.configured().read_again();
        for problem in loaded
            .problems
            .iter()
            .filter(|p| p.severity != Severity::Advice)
        {
            output.note(&output.paint(Paint::Warn, &problem.to_string()));
        }
        let unreadable = |p: &Problem| p.severity == Severity::Error && p.server.is_none();
        if loaded.problems.iter().any(unreadable) {
            output.note("config: nothing is changed until the file can be read");
            continue;
        }
        let change = pegboard.hub().apply(loaded.servers.into_values()).await;
        let names = |names: &[ServerName]| {
            names
                .iter()
                .map(|name| name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (word, servers) in [
            ("new", &change.added),
            ("removed", &change.removed),
            ("redefined", &change.redefined),
            ("changed", &change.adjusted),
        ] {
            if !servers.is_empty() {
                output.note(&format!("config: {word} {}", names(servers)));
            }
        }
    }
}

async fn tell_events(mut events: tokio::sync::broadcast::Receiver<Event>, output: &Output) {
    use tokio::sync::broadcast::error::RecvError;
    loop {
        match events.recv().await {
            Ok(event) => tell_event(&event, output),
            Err(RecvError::Lagged(lost)) => output.note(&format!("({lost} events not shown)")),
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}

fn tell_event(event: &Event, output: &Output) {
    if output.json {
        output.note_json(event);
        return;
    }
    match &event.kind {
        EventKind::ServerDiscovered {
            server,
            tools,
            duration_ms,
        } => {
            let mark = output.paint(Paint::Good, "✓");
            output.note(&format!(
                "{mark} {server}: {} ({duration_ms} ms)",
                count(*tools, "tool")
            ));
        }
        EventKind::ServerFailed {
            server,
            error,
            reason,
        } => {
            let mark = output.paint(Paint::Bad, "✗");
            output.note(&format!(
                "{mark} {server}: {} [{reason}]",
                Foreign::new(error.lines().next().unwrap_or_default())
            ));
        }
        EventKind::ServerRemoved { server, removed } => {
            output.note(&format!("- {server}: {} gone", count(*removed, "tool")));
        }
        EventKind::ServerStopped { server, why } if why == "crashed" => {
            output.note(&format!(
                "{} {server} ended by itself",
                output.paint(Paint::Warn, "!")
            ));
        }
        _ => {}
    }
}
