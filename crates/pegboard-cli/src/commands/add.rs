//! `pegboard add`: writes a server to the config file and discovers it.

use std::collections::BTreeMap;

use clap::Args;
use pegboard::Builder;
use pegboard_config::edit::{NewServer, NewTransport, add_server};
use pegboard_config::{NormalizedName, Problem, definition_warnings, masked_command_line};
use pegboard_model::{Reason, ServerName, Template, ToolError, Transport, UntrustedText};

use super::discover_now::discover;
use super::login::{self, LoginArgs};
use super::{CommandResult, Global, Output, add_secrets, builder, load_config};
use crate::failure::Failure;
use crate::output::Paint;
use crate::prompts;

#[derive(Args)]
pub(crate) struct AddArgs {
    /// The server's name: a-z, 0-9 and _
    pub(crate) name: String,
    /// The URL of an HTTP server
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// An environment variable of the server; can be repeated
    #[arg(
        short,
        long,
        value_name = "KEY=VALUE",
        num_args = 1,
        conflicts_with = "url"
    )]
    pub(crate) env: Vec<String>,
    /// A header of requests to the server; can be repeated
    #[arg(
        short = 'H',
        long,
        value_name = "NAME: VALUE",
        num_args = 1,
        conflicts_with = "command"
    )]
    pub(crate) header: Vec<String>,
    /// The working directory of the server
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) cwd: Option<String>,
    /// What the server is for
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// The category of its tools
    #[arg(long)]
    pub(crate) category: Option<String>,
    /// Replace a server of the same name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Move tokens in environment variables, headers and arguments to the secret store
    #[arg(long)]
    pub(crate) store_secrets: bool,
    /// Only write the config file; do not start the server
    #[arg(long)]
    pub(crate) no_discover: bool,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

pub(crate) fn run(args: AddArgs, global: &Global, output: &Output) -> CommandResult {
    let NormalizedName { name, is_corrected } = NormalizedName::parse(&args.name)?;
    refuse_command(&args, &name)?;
    if is_corrected {
        let given = UntrustedText::new(&args.name);
        output.note(&format!("`{given}` is not a valid name; using `{name}`"));
    }
    let before = builder(global).load()?;
    let file = before.loaded.edit_target.clone();
    let mut server = NewServer {
        env: pairs(&args.env, '=', "-e KEY=VALUE")?,
        headers: pairs(&args.header, ':', "-H 'Name: value'")?,
        cwd: args.cwd.as_deref().map(from_here),
        description: args.description.clone(),
        category: args.category.clone(),
        ..NewServer::new(name.clone(), transport(&args))
    };
    let secrets = before.secrets();
    let loaded = &before.loaded;
    if !args.replace && add_secrets::existing(loaded, &name).is_some() {
        return Err(already_exists(&name));
    }
    let stored = match args.store_secrets {
        true => add_secrets::store(&mut server, &secrets, loaded, args.replace)?,
        false => add_secrets::Stored::default(),
    };
    if let Err(problem) = add_server(&file, &server, args.replace) {
        stored.undo(&secrets);
        return Err(not_written(&name, problem));
    }
    stored.print(output);
    output.note(&format!("wrote server `{name}` to {}", file.display()));
    add_secrets::print_hints(&server, output);
    warn(&name, builder(global), output)?;
    if args.no_discover {
        return Ok(());
    }
    let written = load_config(global, output)?;
    let discovered = discover(std::slice::from_ref(&name), written, global, output);
    match discovered {
        Err(failure) if args.url.is_some() && failure.exit == Reason::LoginNeeded.exit_code() => {
            offer_login(&name, failure, global, output)
        }
        done => done,
    }
}

/// The server requires a login: asks at the terminal whether to log in now.
fn offer_login(
    name: &ServerName,
    failure: Failure,
    global: &Global,
    output: &Output,
) -> CommandResult {
    let question = format!("Log in to `{name}` with your browser now?");
    if output.json || !prompts::can_ask() || !prompts::confirm(&question, true) {
        return Err(failure);
    }
    let args = LoginArgs {
        server: Some(name.to_string()),
        no_browser: false,
        scope: Vec::new(),
        status: false,
    };
    login::run(&args, global, output)
}

/// Prints the warnings about a server's definition.
fn warn(name: &ServerName, builder: Builder, output: &Output) -> CommandResult {
    let written = builder.load()?;
    let Some(spec) = written.loaded.servers.get(name) else {
        return Ok(());
    };
    for warning in definition_warnings(name, &spec.transport) {
        let text = format!("warning: {}", warning.sentence());
        output.note(&output.paint(Paint::Warn, &text));
    }
    Ok(())
}

fn not_written(name: &ServerName, problem: Problem) -> Failure {
    if problem.reason != Reason::ConfigDuplicate {
        return problem.into();
    }
    already_exists(name)
}

fn already_exists(name: &ServerName) -> Failure {
    let message = format!("server `{name}` already exists");
    let error = ToolError::new(Reason::ConfigDuplicate, message).at_server(name);
    error
        .with_remedy("Choose another name, or replace it with `--replace`.")
        .into()
}

fn transport(args: &AddArgs) -> NewTransport {
    match &args.url {
        Some(url) => NewTransport::Http { url: url.clone() },
        None => {
            let mut words = args.command.iter().cloned();
            NewTransport::Stdio {
                command: words.next().map(|word| program(&word)).unwrap_or_default(),
                args: words.collect(),
            }
        }
    }
}

/// Refuses a command line in place of a URL. Only a URL can be given without `--`.
fn refuse_command(args: &AddArgs, name: &ServerName) -> CommandResult {
    let Some(url) = args.url.as_deref().filter(|url| !url.contains("://")) else {
        return Ok(());
    };
    let mut words = url.split_whitespace();
    let first = words.next().unwrap_or_default();
    if words.next().is_none() && !is_program(first) {
        return Ok(());
    }
    let mut words = url.split_whitespace().map(Template::literal);
    let transport = Transport::Stdio {
        command: words.next().unwrap_or_else(|| Template::literal("")),
        args: words.collect(),
        env: BTreeMap::new(),
        cwd: None,
    };
    let command = masked_command_line(&transport);
    Err(Failure::usage(
        "this is a command, not a URL",
        format!("Write `pegboard add {name} -- {command}`."),
    ))
}

/// Returns the words of `pegboard add NAME COMMAND …` with the `--` that is missing before the command, as other
/// programs accept it. Returns `None` for anything else.
pub(crate) fn with_separator(
    words: impl Iterator<Item = std::ffi::OsString>,
) -> Option<Vec<std::ffi::OsString>> {
    let mut words: Vec<_> = words.collect();
    let [_, command, name, program, _, ..] = words.as_slice() else {
        return None;
    };
    let is_option = name.to_str()?.starts_with('-');
    let program = program.to_str()?;
    if command != "add" || is_option || words.iter().any(|word| word == "--") {
        return None;
    }
    if program.contains("://") || !(is_program(program) || is_file_path(program)) {
        return None;
    }
    words.insert(3, "--".into());
    Some(words)
}

/// Returns true if `word` is a program in `PATH`.
fn is_program(word: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    !word.contains('/') && std::env::split_paths(&path).any(|folder| folder.join(word).is_file())
}

fn is_file_path(word: &str) -> bool {
    word.contains('/') && std::path::Path::new(word).is_file()
}

/// Makes a relative path absolute, because the config file is in another directory.
fn program(word: &str) -> String {
    if word.contains('/') {
        from_here(word)
    } else {
        word.to_owned()
    }
}

fn from_here(path: &str) -> String {
    let is_anchored = path.starts_with(['/', '~']) || path.contains("${");
    match std::path::absolute(path) {
        Ok(absolute) if !is_anchored => absolute.display().to_string(),
        _ => path.to_owned(),
    }
}

fn pairs(texts: &[String], separator: char, form: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut pairs = Vec::new();
    for text in texts {
        let Some((key, value)) = text.split_once(separator) else {
            // The text may hold a secret, so it is not repeated.
            let message = format!("an option value has no `{separator}`");
            return Err(Failure::usage(message, format!("Write it as {form}.")));
        };
        pairs.push((key.trim().to_owned(), value.trim_start().to_owned()));
    }
    Ok(pairs)
}
