//! The commands that other programs run and wait for. Building the words of every command takes as long as some of
//! these need for their whole start, so they are read with theirs alone.

use clap::{Parser, Subcommand};

use super::args::{Arguments, CallArgs, Command, Global, ServeArgs, StdioArgs};

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
    Serve(ServeArgs),
    Call(CallArgs),
}

/// What was typed, if it is one of these commands and nothing is wrong with it: help and mistakes are told by whoever
/// knows all commands.
pub(super) fn parse() -> Option<Arguments> {
    let first = std::env::args_os().nth(1)?;
    if !["stdio", "serve", "call"].iter().any(|word| first == *word) {
        return None;
    }
    let FastArguments { global, command } = FastArguments::try_parse().ok()?;
    let command = match command {
        FastCommand::Stdio(args) => Command::Stdio(args),
        FastCommand::Serve(args) => Command::Serve(args),
        FastCommand::Call(args) => Command::Call(args),
    };
    Some(Arguments { global, command })
}
