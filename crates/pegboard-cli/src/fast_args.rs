//! A small argument parser for commands that other programs run and wait for. Building the `clap` definition of every
//! command takes as long as the rest of the start of these commands, so they are parsed with their own definition.

use clap::{Parser, Subcommand};

use super::args::{Arguments, Command, Global};
use super::commands::{call::CallArgs, serve::ServeCommandArgs, stdio::StdioArgs};

#[derive(Parser)]
#[command(name = "pegboard")]
struct FastArguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: FastCommand,
}

#[derive(Subcommand)]
enum FastCommand {
    Stdio(StdioArgs),
    Serve(ServeCommandArgs),
    Call(CallArgs),
    Background,
}

/// Parses the arguments of this process. Returns `None` for other commands, for help, and for invalid arguments; the
/// full parser handles those.
pub(super) fn parse() -> Option<Arguments> {
    let first = std::env::args_os().nth(1)?;
    if !["stdio", "serve", "call", "background"]
        .iter()
        .any(|word| first == *word)
    {
        return None;
    }
    let FastArguments { global, command } = FastArguments::try_parse().ok()?;
    let command = match command {
        FastCommand::Stdio(args) => Command::Stdio(args),
        FastCommand::Serve(args) => Command::Serve(args),
        FastCommand::Call(args) => Command::Call(args),
        FastCommand::Background => Command::Background,
    };
    Some(Arguments { global, command })
}
