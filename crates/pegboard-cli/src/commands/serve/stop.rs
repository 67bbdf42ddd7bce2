//! What ends a serving Pegboard besides a signal.

use tokio::io::AsyncReadExt as _;

use crate::commands::stdio::{StdioReader, piped_input};
use crate::failure::Failure;

/// The size of the buffer for input that is discarded.
const BUFFER_BYTES: usize = 256;

/// What ends a serving Pegboard besides a signal.
pub(crate) enum StopCondition {
    /// Nothing.
    Interrupted,
    /// The end of standard input: the system closes it when the program that started this one ends, however it ends.
    EndOfInput(StdioReader),
}

impl StopCondition {
    /// Returns the condition for the flag `--exit-on-eof`.
    pub(super) fn of(exit_on_eof: bool) -> Result<Self, Failure> {
        if !exit_on_eof {
            return Ok(Self::Interrupted);
        }
        match piped_input() {
            Ok(Some(input)) => Ok(Self::EndOfInput(input)),
            Ok(None) => Err(unusable("it is not a pipe")),
            Err(error) => Err(unusable(&error.to_string())),
        }
    }

    /// Returns true if other programs may use this Pegboard: it does not end with its parent.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Interrupted)
    }

    /// Waits until the condition holds. Input is discarded.
    pub(super) async fn wait(self) {
        let Self::EndOfInput(mut input) = self else {
            return std::future::pending().await;
        };
        let mut buffer = [0; BUFFER_BYTES];
        while matches!(input.read(&mut buffer).await, Ok(read) if read > 0) {}
    }
}

fn unusable(why: &str) -> Failure {
    let message = format!("`--exit-on-eof` cannot use standard input: {why}");
    let remedy = "Start this command from a program that keeps the other end of the pipe open, or remove the flag.";
    Failure::usage(message, remedy)
}
