//! The command `pegboard`: parses arguments, runs one command, returns its exit code.

mod args;
mod commands;
mod example_server;
mod failure;
mod fast_args;
mod format;
mod logging;
mod output;
mod overrides;
mod prompts;
mod table;

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
    hide_memory();
    let mut words = std::env::args_os().skip(1).map(OsString::into_string);
    if let (Some(Ok(first)), Some(Ok(owner))) = (words.next(), words.next())
        && first == WATCH_ARGUMENT
    {
        run_watcher(&owner, std::io::stdin().lock());
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
fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // If the system forbids this call, there is no alternative.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

fn run() -> ExitCode {
    let read = fast_args::parse().map_or_else(Arguments::try_parse, Ok);
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(error) => {
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
