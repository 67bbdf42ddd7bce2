//! The commands that other programs run and wait for. Building the words of every command takes as long as some of
//! these need for their whole start, so they are read with theirs alone.

use clap::{Parser, Subcommand};

use super::args::{Arguments, CallArgs, Command, Global, ServeArgs, StdioArgs};

#[derive(Parser)]
#[command(name = "pegboard")]
struct Frequent {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Words,
}

#[derive(Subcommand)]
enum Words {
    Stdio(StdioArgs),
    Serve(ServeArgs),
    Call(CallArgs),
}

/// What was typed, if it is one of these commands and nothing is wrong with it: help and mistakes are told by whoever
/// knows all commands.
pub(super) fn read() -> Option<Arguments> {
    let first = std::env::args_os().nth(1)?;
    if !["stdio", "serve", "call"].iter().any(|word| first == *word) {
        return None;
    }
    let Frequent { global, command } = Frequent::try_parse().ok()?;
    let command = match command {
        Words::Stdio(args) => Command::Stdio(args),
        Words::Serve(args) => Command::Serve(args),
        Words::Call(args) => Command::Call(args),
    };
    Some(Arguments { global, command })
}
