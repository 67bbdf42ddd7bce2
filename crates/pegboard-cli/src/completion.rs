//! Answers a shell's request for completions: commands, options, and the names of servers, tools, profiles and secrets
//! from the configuration and the stored catalog. Starts no server, and prints nothing if something is wrong.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use pegboard::{Builder, Pegboard};
use pegboard_model::UntrustedText;

use super::help;

/// The variable that the scripts of `pegboard completions` set.
pub(crate) const VARIABLE: &str = "PEGBOARD_COMPLETE";
/// The maximum number of characters shown of a tool's summary.
const MAX_SUMMARY_CHARS: usize = 60;

/// Answers a request for completions. Returns false if this process was not started for that.
pub(crate) fn answer() -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty() || shell == "0") {
        return false;
    }
    let folder = std::env::current_dir().ok();
    let completing = CompleteEnv::with_factory(definition)
        .var(VARIABLE)
        .bin("pegboard")
        .completer("pegboard");
    // An error has no place to be shown: the user is typing.
    let _ = completing.try_complete(std::env::args_os(), folder.as_deref());
    true
}

/// The command line with completers for all arguments that are names.
fn definition() -> Command {
    with_completers(help::command())
}

fn with_completers(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|arg| with_completer(&name, arg))
        .mut_subcommands(with_completers)
}

/// The meaning of an argument follows from its name. `add` takes the name of a new server, `secret` of a secret.
fn with_completer(command: &str, arg: Arg) -> Arg {
    let completer = match (command, arg.get_id().as_str()) {
        ("logs" | "export", "servers") | (_, "server") => ArgValueCompleter::new(servers),
        (_, "tool") | ("set" | "unset", "pattern") => ArgValueCompleter::new(tools),
        (_, "profile") => ArgValueCompleter::new(profiles),
        (_, "category") if command != "add" => ArgValueCompleter::new(categories),
        ("rm", "name") => ArgValueCompleter::new(secrets),
        (_, "client" | "clients") if command != "activity" => ArgValueCompleter::new(clients),
        _ => return arg,
    };
    arg.add(completer)
}

/// Returns the configuration that the command line being typed would use.
fn builder() -> Builder {
    let words: Vec<OsString> = std::env::args_os().collect();
    let mut builder = Pegboard::builder();
    if let Some(file) = option(&words, "-c", "--config") {
        builder = builder.config_file(file);
    }
    if let Some(project) = option(&words, "-p", "--project") {
        builder = builder.project(project);
    }
    builder
}

/// Returns the value of an option in a command line that may be incomplete.
fn option(words: &[OsString], short: &str, long: &str) -> Option<PathBuf> {
    let assigned = format!("{long}=");
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == short || word == long {
            return words.next().map(PathBuf::from);
        }
        if let Some(value) = word.to_str().and_then(|word| word.strip_prefix(&assigned)) {
            return Some(PathBuf::from(value));
        }
    }
    None
}

fn starting_with(
    names: impl IntoIterator<Item = String>,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let Some(start) = current.to_str() else {
        return Vec::new();
    };
    let matching = names.into_iter().filter(|name| name.starts_with(start));
    matching.map(CompletionCandidate::new).collect()
}

fn servers(current: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(configuration) = builder().load() else {
        return Vec::new();
    };
    let names = configuration.loaded.servers.keys();
    starting_with(names.map(ToString::to_string), current)
}

fn profiles(current: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(configuration) = builder().load() else {
        return Vec::new();
    };
    starting_with(configuration.loaded.profiles.into_keys(), current)
}

fn secrets(current: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(configuration) = builder().load() else {
        return Vec::new();
    };
    let secrets = configuration.secrets().names();
    starting_with(secrets.into_iter().map(|secret| secret.name), current)
}

fn clients(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = pegboard_config::clients::CLIENTS.iter();
    starting_with(names.map(|client| client.key.to_owned()), current)
}

fn categories(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut names: Vec<String> = Vec::new();
    with_catalog(|catalog| {
        names.extend(catalog.tools().map(|tool| tool.category().to_owned()));
    });
    names.retain(|name| is_plain(name));
    names.sort();
    names.dedup();
    starting_with(names, current)
}

/// Tools as `server/tool`, and as `server__tool` or `server.tool` if that is how the word begins.
fn tools(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(start) = current.to_str() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    with_catalog(|catalog| {
        for tool in catalog.tools() {
            let qualified = |separator: char| {
                let server = tool.server();
                server.map(|server| format!("{server}{separator}{}", tool.name()))
            };
            let exposed = tool.exposed().to_string();
            let names = qualified('/').into_iter().chain([exposed]);
            let names = names.chain(qualified('.'));
            let mut names = names.filter(|name| name.starts_with(start) && is_plain(name));
            if let Some(name) = names.next() {
                let summary = UntrustedText::new(tool.summary()).shortened(MAX_SUMMARY_CHARS);
                let help = (!tool.summary().is_empty()).then(|| summary.to_string().into());
                found.push(CompletionCandidate::new(name).help(help));
            }
        }
    });
    found
}

/// Returns true if a name that a server chose is safe to put on a command line without quotes.
fn is_plain(name: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
    !name.is_empty() && name.chars().all(is_good)
}

fn with_catalog(read: impl FnOnce(&pegboard_catalog::Catalog)) {
    let builder = builder();
    let Ok(configuration) = builder.load() else {
        return;
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let Ok(runtime) = runtime.enable_all().build() else {
        return;
    };
    runtime.block_on(async {
        if let Ok(pegboard) = builder.open_with(configuration).await {
            read(&pegboard.hub().catalog());
            pegboard.shut_down().await;
        }
    });
}
