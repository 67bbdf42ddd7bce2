//! The command `pegboard`: parses arguments, runs one command, returns its exit code.

mod args;
mod background;
mod commands;
mod completion;
mod example_server;
mod failure;
mod fast_args;
mod format;
mod help;
mod logging;
mod output;
mod overrides;
mod prompts;
mod table;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use pegboard_upstream::{
    WATCH_ARGUMENT, end_leftovers, run_watcher, set_watcher_program, stop_watcher,
};

use args::Arguments;
use output::Output;

/// Runs the command line of this process.
fn main() -> ExitCode {
    // The shared process identifies a client by what the system says about it, so its clients hide their memory later.
    let first = std::env::args_os().nth(1).unwrap_or_default();
    if first != "stdio" && first != "call" {
        hide_memory();
    }
    let mut words = std::env::args_os().skip(1).map(OsString::into_string);
    if let (Some(Ok(first)), Some(Ok(owner))) = (words.next(), words.next())
        && first == WATCH_ARGUMENT
    {
        run_watcher(&owner, std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    if completion::answer() {
        return ExitCode::SUCCESS;
    }
    if let Ok(program) = std::env::current_exe() {
        set_watcher_program(program);
    }
    let code = run();
    end_leftovers();
    stop_watcher();
    code
}

/// Prevents other processes of the user, including servers, from reading the environment and memory of this process,
/// which hold secrets. Child processes do not inherit the setting, and root is not restricted.
pub(crate) fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // If the system forbids this call, there is no alternative.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Lets the shared process see which limits this process runs under while `work` connects to it. The memory is hidden
/// afterwards.
pub(crate) fn with_visible_memory<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    }
    let result = work();
    hide_memory();
    result
}

fn run() -> ExitCode {
    let read = fast_args::parse()
        .map_or_else(Arguments::try_parse, Ok)
        .or_else(|error| {
            let words = commands::add::with_separator(std::env::args_os());
            words.map_or(Err(error), Arguments::try_parse_from)
        });
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(error) => {
            let error = with_grouped_help(error);
            // Help and version are not failures.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let output = Output::new(&arguments.global);
    match commands::run(arguments, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.show(&output);
            ExitCode::from(failure.exit)
        }
    }
}

/// Replaces the help of the whole program by its grouped form, which is built only when it is shown.
fn with_grouped_help(error: clap::Error) -> clap::Error {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand};
    match error.kind() {
        DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand => {
            let words = std::env::args_os();
            help::command()
                .try_get_matches_from(words)
                .err()
                .unwrap_or(error)
        }
        _ => error,
    }
}
