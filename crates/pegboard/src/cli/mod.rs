//! The command line: reads arguments, runs one command, tells how it ended.

mod args;
mod commands;
mod failure;
mod output;
mod people;

use std::process::ExitCode;

use clap::Parser;

use args::Arguments;
use output::Output;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not failures.
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
