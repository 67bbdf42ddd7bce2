//! `pegboard serve` and the main part of `up`: serves HTTP clients and keeps the catalog fresh.

mod address;
mod event_log;
mod follow;
mod greeting;
mod reuse;
mod stop;
mod tokens;

use std::future::Future;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use pegboard::dashboard::{
    ConfigReloader, Dashboard, Endpoint, ProcessAdmin, RunningInstance, login_redirect,
};
use pegboard::{Builder, Configuration, Pegboard};
use pegboard_config::{ContentHashes, Problem, Watcher};
use pegboard_gateway::http::{self, ADMIN_TOKEN_FILE, Access, Site, TOKEN_FILE};
use tokio::net::UnixListener;
use tokio::sync::{Notify, oneshot};

use super::{
    CommandResult, Global, Output, builder, interrupted, load_config, note_if_empty, open_unread,
    serving,
};
use crate::background::Foreground;
use crate::failure::Failure;
use crate::output::Paint;
use address::Listening;
use tokens::Tokens;

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// The port [default: 7340, or a free one if it is taken]
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The address to listen on, with or without a port [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) listen: Option<ListenAddress>,
    /// An additional host name that clients may use; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// Accept every program on this machine without a token; loopback addresses only
    #[arg(long)]
    pub(crate) no_auth: bool,
}

#[derive(Args)]
pub(crate) struct ServeCommandArgs {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    /// If a Pegboard with the same configuration is running, print its address and exit
    #[arg(long)]
    pub(crate) reuse: bool,
    /// Stop when standard input, a pipe, closes; other programs do not find this Pegboard
    #[arg(long)]
    pub(crate) exit_on_eof: bool,
}

pub(crate) use stop::StopCondition;

pub(crate) use address::{ListenAddress, listen};
pub(crate) use follow::{STARTUP_GRACE, follow_config, run_housekeeping};
pub(crate) use greeting::print_statistics;

pub(crate) fn run(args: &ServeCommandArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    note_if_empty(&configuration, output);
    let builder = builder(global).metrics();
    serving(async {
        if args.reuse
            && let Some(address) = reuse::find(&configuration).await
        {
            return greeting::greet_reused(&configuration, address, output);
        }
        let stop = StopCondition::of(args.exit_on_eof)?;
        let (settings, state) = (&configuration.loaded.settings, configuration.state.path());
        let listening = listen(&args.serve, settings, state, output).await?;
        // A Pegboard that ends with its parent is not offered to other programs.
        let is_shared = stop.is_shared();
        let foreground = is_shared.then(|| Foreground::new(global, &configuration, output));
        let started = Started::open(configuration, builder, foreground.flatten(), output)?;
        let logs_in = is_interactive();
        serve(started, listening, &args.serve, logs_in, stop, output).await
    })
}

/// An open Pegboard, and the clients of the socket that it serves beside those over HTTP.
pub(crate) struct Started {
    pegboard: Arc<Pegboard>,
    /// `None` if this process serves HTTP clients only.
    foreground: Option<Foreground>,
}

impl Started {
    pub(crate) fn open(
        configuration: Configuration,
        builder: Builder,
        foreground: Option<Foreground>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let builder = match &foreground {
            Some(foreground) => builder.pool(foreground.pool()),
            None => builder,
        };
        let pegboard = Arc::new(open_unread(configuration, builder, output)?);
        Ok(Self {
            pegboard,
            foreground,
        })
    }
}

/// Ends orphans of an earlier run that was killed, after the first clients were served.
async fn sweep(output: &Output) {
    tokio::time::sleep(STARTUP_GRACE).await;
    let swept = tokio::task::spawn_blocking(pegboard_upstream::sweep_orphans);
    let left = swept.await.unwrap_or(0);
    if left > 0 {
        output.note(&format!("leftover processes of earlier runs ended: {left}"));
    }
}

/// Loads the catalog and keeps it fresh. A catalog that has to be read from disk is loaded after the first clients
/// were served.
async fn keep_catalog_fresh(pegboard: &Pegboard, output: &Output) {
    let hub = pegboard.hub();
    if !hub.is_catalog_loaded() {
        tokio::time::sleep(STARTUP_GRACE).await;
    }
    if !output.json {
        print_statistics(pegboard, output);
    }
    // Discovery starts when a client or the dashboard needs tools.
    hub.start_deferred_session();
    run_housekeeping(hub).await;
}

/// Starts watching files on another thread, because the setup takes as long as many requests.
fn begin_watching(files: Vec<PathBuf>, read: ContentHashes, changed: &Arc<Notify>) -> Watching {
    let signal = changed.clone();
    tokio::task::spawn_blocking(move || Watcher::start(files, &read, move || signal.notify_one()))
}

type Watching = tokio::task::JoinHandle<Result<Watcher, Problem>>;

/// Keeps the watcher alive, and reports if it could not be started.
async fn watch(watching: Watching, output: &Output) {
    let watcher = watching.await;
    if let Ok(Err(problem)) = &watcher {
        output.note(&output.paint(Paint::Warn, &problem.to_string()));
    }
    let _kept = watcher;
    std::future::pending().await
}

/// Serves until interrupted, or until the stop condition holds, and closes the Pegboard.
pub(crate) async fn serve(
    started: Started,
    listening: Listening,
    args: &ServeArgs,
    logs_in: bool,
    stop_condition: StopCondition,
    output: &Output,
) -> CommandResult {
    let result = serve_open(&started, listening, args, logs_in, stop_condition, output).await;
    started.pegboard.shut_down().await;
    result
}

async fn serve_open(
    Started {
        pegboard,
        foreground,
    }: &Started,
    listening: Listening,
    args: &ServeArgs,
    logs_in: bool,
    stop_condition: StopCondition,
    output: &Output,
) -> CommandResult {
    let hub = pegboard.hub();
    let events = hub.subscribe();
    let state = pegboard.configuration().state.path();
    let tokens = Tokens::of(args, pegboard)?;
    let access = access(&listening, args, pegboard, &tokens)?;
    let mut read = pegboard.configuration().loaded.contents.clone();
    for file in [TOKEN_FILE, ADMIN_TOKEN_FILE] {
        read.record(&state.join(file));
    }
    let gateway = pegboard.gateway();
    let reload = Arc::new(ConfigReloader::new(pegboard, &gateway));
    let endpoint = Endpoint {
        url: format!("http://{}", greeting::shown_address(&listening)),
        address: listening.address,
        command: greeting::own_command(),
        needs_token: access.needs_token(),
        process: foreground
            .as_ref()
            .map(|foreground| foreground.process.clone() as Arc<dyn ProcessAdmin>),
    };
    let dashboard = Dashboard::new(pegboard, &gateway, &reload, endpoint);
    let access = access.with_logins(dashboard.logins().clone());
    let site = Site::new(gateway.clone(), access.clone())
        .with(pegboard.metrics_route(&gateway))
        .with(dashboard.routes());
    // The watcher starts before the greeting, so that no later change is missed.
    let changed = Arc::new(Notify::new());
    let mut files = pegboard.configuration().loaded.watch_list();
    // Trust, secrets and tokens are applied like changes of config files.
    let own = ["trust.json", "secrets.json", TOKEN_FILE, ADMIN_TOKEN_FILE];
    files.extend(own.map(|name| state.join(name)));
    let watching = begin_watching(files, read, &changed);
    let login = logs_in.then(|| dashboard.login_url());
    let is_shared = stop_condition.is_shared();
    let _running = is_shared.then(|| RunningInstance::announce(state, listening.address));
    let url = format!("http://{}/", greeting::shown_address(&listening));
    let socket = foreground
        .as_ref()
        .and_then(|foreground| foreground.open(pegboard, &gateway, &reload, &url));
    tokens.warn(output);
    greeting::greet(
        pegboard,
        &listening,
        &access,
        login.as_ref(),
        tokens.temporary(),
        output,
    );

    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(http::serve(listening.listener, site, stopped));
    tokio::select! {
        () = event_log::print_events(events, output) => {}
        () = keep_catalog_fresh(pegboard, output) => {}
        () = watch(watching, output) => {}
        () = forever(sweep(output)) => {}
        () = follow_config(&reload, Some(&access), &changed, output) => {}
        () = dashboard.keep_projects_updated() => {}
        () = login_redirect::expire(state) => {}
        () = serve_socket(foreground.as_ref(), socket, output) => {}
        () = stop_condition.wait() => {}
        () = interrupted() => {}
    }
    output.note("stopping");
    if let Some(foreground) = foreground {
        foreground.end().await;
    }
    drop(stop);
    let _ = serving.await;
    gateway.close();
    Ok(())
}

/// Serves the clients of the socket until the process is asked to stop; forever without a socket.
async fn serve_socket(
    foreground: Option<&Foreground>,
    listener: Option<UnixListener>,
    output: &Output,
) {
    match foreground {
        Some(foreground) => foreground.serve(listener, output).await,
        None => std::future::pending().await,
    }
}

/// Runs work, then waits forever.
async fn forever(work: impl Future<Output = ()>) {
    work.await;
    std::future::pending().await
}

/// Builds the access rules from flags, settings and tokens.
fn access(
    listening: &Listening,
    args: &ServeArgs,
    pegboard: &Pegboard,
    tokens: &Tokens,
) -> Result<Access, Failure> {
    let configuration = pegboard.configuration();
    let settings = &configuration.loaded.settings;
    let access = match &tokens.client {
        None => Access::without_token(listening.address).map_err(|refused| {
            let remedy = "Remove `--no-auth`, or listen on 127.0.0.1.";
            Failure::usage(refused.to_string(), remedy)
        })?,
        Some(client) => Access::with_token(listening.address, &client.token),
    };
    let access = access
        .with_admin_token(&tokens.admin.token)
        .with_limits(configuration.limits.clone());
    let hosts = settings.allow_hosts.iter().chain(&args.allow_host);
    let access = access.allow_hosts(hosts.cloned());
    Ok(access.allow_origins(settings.allow_origins.iter().cloned()))
}

/// Returns true if stdout is a terminal.
fn is_interactive() -> bool {
    std::io::stdout().is_terminal()
}

/// Prints a warning, even with `--quiet`.
fn warn(text: &str, output: &Output) {
    output.always_note(&output.paint(Paint::Warn, &format!("warning: {text}")));
}
