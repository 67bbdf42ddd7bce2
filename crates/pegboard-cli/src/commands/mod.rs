//! The commands, one module each, and what they share.

pub(crate) mod activity;
pub(crate) mod add;
mod add_secrets;
pub(crate) mod approvals;
pub(crate) mod ask;
pub(crate) mod call;
pub(crate) mod clear;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod context;
pub(crate) mod dashboard;
pub(crate) mod describe;
pub(crate) mod disconnect;
pub(crate) mod discover_now;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod log_hints;
pub(crate) mod login;
pub(crate) mod logs;
pub(crate) mod man;
pub(crate) mod pin;
pub(crate) mod policy;
pub(crate) mod progress;
pub(crate) mod ps;
pub(crate) mod refresh;
pub(crate) mod restart;
pub(crate) mod review;
mod running;
pub(crate) mod sandbox;
mod sandbox_proposal;
pub(crate) mod search;
pub(crate) mod secret;
pub(crate) mod serve;
pub(crate) mod service;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod stdio;
pub(crate) mod stop;
pub(crate) mod token;
pub(crate) mod tokens;
pub(crate) mod tool_lookup;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod undiscovered;
pub(crate) mod up;

use std::future::Future;
use std::path::PathBuf;

use pegboard::{Builder, Configuration, Pegboard};
use pegboard_background::Hello;
use pegboard_config::{Problem, Severity};
use pegboard_model::{Reason, ServerName, ToolError};

pub(crate) use stdio::run_background_tasks;

use super::args::{Arguments, Command, Global};
use super::failure::Failure;
use super::logging;
use super::output::{Output, Paint};

/// The note if no server is configured.
const NO_SERVER: &str =
    "No server is configured. Try `pegboard add example -- pegboard example-server`.";

/// The result of a command that prints its output itself.
pub(crate) type CommandResult = Result<(), Failure>;

/// Runs a parsed command.
pub(crate) fn run(arguments: Arguments, output: &Output) -> CommandResult {
    let global = &arguments.global;
    match arguments.command {
        Command::Up(args) => up::run(args, global, output),
        Command::Setup(args) => setup::run(&args, global, output),
        Command::Serve(args) => serve::run(&args, global, output),
        Command::Stdio(args) => stdio::run(&args, global, output),
        Command::Background => crate::background::run(output),
        Command::Token(args) => token::run(&args, global, output),
        Command::Dashboard(args) => dashboard::run(&args, global, output),
        Command::Status => status::run(global, output),
        Command::Ps => ps::run(output),
        Command::Stop => stop::run(output),
        Command::Restart => restart::run(output),
        Command::Service(command) => service::run(&command, output),
        Command::Connect(args) => connect::run(&args, global, output),
        Command::Disconnect(args) => disconnect::run(&args, global, output),
        Command::Add(args) => add::run(args, global, output),
        Command::Import(args) => import::run(&args, global, output),
        Command::Remove(args) => edit::remove(&args.server, global, output),
        Command::Enable(args) => edit::enable(&args.server, true, global, output),
        Command::Disable(args) => edit::enable(&args.server, false, global, output),
        Command::Edit(args) => edit::set(&args, global, output),
        Command::List => list::run(global, output),
        Command::Show(args) => show::run(&args.server, global, output),
        Command::Tools(args) => tools::run(&args, global, output),
        Command::Describe(args) => describe::run(&args.tool, global, output),
        Command::Search(args) => search::run(&args, global, output),
        Command::Context => context::run(global, output),
        Command::Export(args) => export::run(&args, global, output),
        Command::Tokens(args) => tokens::run(&args, global, output),
        Command::Ask(args) => ask::run(&args, global, output),
        Command::Call(args) => call::run(&args, global, output),
        Command::Refresh(args) => refresh::run(&args, global, output),
        Command::Clear(args) => clear::run(&args, global, output),
        Command::Sandbox(command) => sandbox::run(&command, global, output),
        Command::Pin(args) => pin::run(&args, global, output),
        Command::Trust(args) => trust::run(&args, global, output),
        Command::Policy(command) => policy::run(command, global, output),
        Command::Review(args) => review::run(args.command, global, output),
        Command::Approvals(args) => approvals::run(args.command, global, output),
        Command::Activity(args) => activity::run(&args, global, output),
        Command::Secret(command) => secret::run(command, global, output),
        Command::Login(args) => login::run(&args, global, output),
        Command::Logout(args) => login::logout(&args.server, global, output),
        Command::Logs(args) => logs::run(&args, global, output),
        Command::Doctor(args) => doctor::run(&args, global, output),
        Command::Config(command) => config::run(&command, global, output),
        Command::ExampleServer => {
            let (stdin, stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
            crate::example_server::run(stdin, stdout).map_err(|_| Failure::shown(0))
        }
        Command::Completions(args) => completions::run(&args, output),
        Command::Man(args) => man::run(&args, output),
    }
}

/// Returns a builder with the global options.
fn builder(global: &Global) -> Builder {
    let mut builder = Pegboard::builder();
    if let Some(file) = &global.config {
        builder = builder.config_file(file);
    }
    if let Some(project) = &global.project {
        builder = builder.project(project);
    }
    if global.strict {
        builder = builder.strict();
    }
    builder
}

/// Reads the configuration and reports its problems. An invalid server is not an error; an unusable file or directory
/// that the user named is one.
fn load_config(global: &Global, output: &Output) -> Result<Configuration, Failure> {
    let configuration = builder(global).load()?;
    if let Some(problem) = problem_with_named_path(global, &configuration) {
        return Err(problem.clone().into());
    }
    logging::start(global, &configuration, output)?;
    report_problems(&configuration, output, |_| true);
    Ok(configuration)
}

/// Returns the problem of a file or directory that the user named with a flag. Without that file, the command would
/// run with a different configuration than requested.
fn problem_with_named_path<'a>(
    global: &Global,
    configuration: &'a Configuration,
) -> Option<&'a Problem> {
    let folder = &configuration.environment.working_dir;
    let named = [&global.config, &global.project];
    let named: Vec<PathBuf> = named
        .into_iter()
        .flatten()
        .map(|path| folder.join(path))
        .collect();
    problem_with_paths(&named, configuration)
}

fn problem_with_paths<'a>(
    named: &[PathBuf],
    configuration: &'a Configuration,
) -> Option<&'a Problem> {
    configuration.loaded.problems.iter().find(|problem| {
        let is_named = problem
            .file
            .as_ref()
            .is_some_and(|file| named.contains(file));
        is_named && loses_a_file(problem)
    })
}

/// Returns the notes about a client's configuration: its problems, and whether it has no server.
///
/// # Errors
/// Fails if a file or directory that the client named cannot be used.
pub(crate) fn notes_of(
    hello: &Hello,
    configuration: &Configuration,
) -> Result<Vec<String>, Failure> {
    let named: Vec<PathBuf> = [&hello.config, &hello.project]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    if let Some(problem) = problem_with_paths(&named, configuration) {
        return Err(problem.clone().into());
    }
    let problems = configuration.loaded.problems.iter();
    let problems = problems.filter(|problem| problem.severity != Severity::Advice);
    let mut notes: Vec<String> = problems.map(problem_text).collect();
    notes.extend(is_empty(configuration).then(|| NO_SERVER.to_owned()));
    Ok(notes)
}

/// Prints a note if no server is configured, and returns whether that is so. Unreadable files are reported elsewhere.
fn note_if_empty(configuration: &Configuration, output: &Output) -> bool {
    if is_empty(configuration) && !configuration.loaded.has_errors() {
        output.note(NO_SERVER);
    }
    is_empty(configuration)
}

fn is_empty(configuration: &Configuration) -> bool {
    configuration.loaded.servers.is_empty() && configuration.loaded.broken.is_empty()
}

fn report_problems(
    configuration: &Configuration,
    output: &Output,
    wanted: impl Fn(&Problem) -> bool,
) {
    let problems = configuration.loaded.problems.iter();
    for problem in problems.filter(|p| p.severity != Severity::Advice && wanted(p)) {
        let paint = match problem.severity {
            Severity::Error => Paint::Bad,
            _ => Paint::Warn,
        };
        let text = output.paint(paint, &problem_text(problem));
        if loses_a_file(problem) {
            output.always_note(&text);
        } else {
            output.note(&text);
        }
    }
}

fn problem_text(problem: &Problem) -> String {
    match problem.severity {
        Severity::Error => problem.to_string(),
        _ => problem.in_one_line(),
    }
}

/// Returns true if a whole file is skipped. This is reported even with `--quiet`, because the result is incomplete.
fn loses_a_file(problem: &Problem) -> bool {
    problem.severity == Severity::Error && problem.server.is_none()
}

/// Opens Pegboard with a configuration and reports problems of the store.
async fn open(
    configuration: Configuration,
    builder: Builder,
    output: &Output,
) -> Result<Pegboard, Failure> {
    let pegboard = redacting(builder, output).open_with(configuration).await?;
    for notice in pegboard.notices() {
        report_notice(notice, output);
    }
    Ok(pegboard)
}

/// Like [`open`], but reads the store on first use, so that clients get their first responses earlier.
pub(crate) fn open_unread(
    configuration: Configuration,
    builder: Builder,
    output: &Output,
) -> Result<Pegboard, Failure> {
    let notice_output = output.clone();
    let on_notice = move |notice: &ToolError| report_notice(notice, &notice_output);
    let pegboard = redacting(builder, output).open_lazily(configuration, on_notice)?;
    for notice in pegboard.notices() {
        report_notice(notice, output);
    }
    Ok(pegboard)
}

/// Registers secrets with the redactor of the logs.
fn redacting(builder: Builder, output: &Output) -> Builder {
    match output.logging.redactor() {
        Some(redactor) => builder.redactor(redactor),
        None => builder,
    }
}

fn report_notice(notice: &ToolError, output: &Output) {
    output.note(&format!("{} {notice}", output.paint(Paint::Warn, "note:")));
}

/// Runs a command that mostly reads, on one thread, which starts faster.
fn reading<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on(tokio::runtime::Builder::new_current_thread(), work)
}

/// Runs a command that works with many servers, on several threads.
fn working<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on(tokio::runtime::Builder::new_multi_thread(), work)
}

/// Runs a command that serves clients, on one thread: passing a short request to another thread costs more than
/// handling it.
pub(crate) fn serving<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on(tokio::runtime::Builder::new_current_thread(), work)
}

fn block_on<T>(
    mut builder: tokio::runtime::Builder,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = builder.enable_all().build().map_err(|error| {
        ToolError::new(
            Reason::Internal,
            format!("cannot start the async runtime: {error}"),
        )
    })?;
    runtime.block_on(work)
}

/// Waits for SIGINT, SIGTERM or SIGHUP.
pub(crate) async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut hup)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
        _ = hup.recv() => {}
    }
}

/// Runs work with an open Pegboard and closes it afterwards, even on failure or interrupt, so that no server is left
/// running.
async fn with_servers<T, W>(
    pegboard: Pegboard,
    work: impl FnOnce(pegboard_hub::Hub) -> W,
) -> Result<T, Failure>
where
    W: Future<Output = Result<T, Failure>>,
{
    let hub = pegboard.hub().clone();
    let result = tokio::select! {
        result = work(hub) => result,
        () = interrupted() => Err(ToolError::new(Reason::Cancelled, "interrupted").into()),
    };
    pegboard.shut_down().await;
    // The process exits now; freeing thousands of tools one by one would only take time.
    std::mem::forget(pegboard);
    result
}

/// Parses the name of a configured server. The error suggests similar names.
fn server_name(text: &str, configuration: &Configuration) -> Result<ServerName, Failure> {
    let loaded = &configuration.loaded;
    let known = ServerName::parse(text)
        .ok()
        .filter(|name| loaded.servers.contains_key(name));
    if let Some(name) = known {
        return Ok(name);
    }
    if let Some(problem) = loaded.broken_problem(text) {
        let message = format!("server `{text}` cannot be used: {}", problem.message);
        return Err(ToolError::new(problem.reason, message)
            .with_remedy(problem.help.clone())
            .into());
    }
    let message = format!(
        "no server `{}` is configured",
        pegboard_model::UntrustedText::new(text)
    );
    let error = ToolError::new(Reason::ServerUnknown, message);
    Err(error.with_nearest(loaded.similar_server_names(text)).into())
}
