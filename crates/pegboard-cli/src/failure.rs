//! Command failures: the error message and the exit code.

use pegboard_config::Problem;
use pegboard_model::{Reason, ToolError};
use serde::Serialize;

use super::output::{Output, Paint};

/// A command failure with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: u8,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Error(Box<ToolError>),
    /// The error was already printed, for example as part of the result.
    Shown,
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: &'a ToolError,
}

impl Failure {
    /// Creates a failure whose cause was already printed.
    pub(crate) fn shown(exit: u8) -> Self {
        Self {
            exit,
            cause: Cause::Shown,
        }
    }

    /// Creates a failure caused by invalid input from the user.
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        ToolError::new(Reason::ConfigInvalid, message)
            .with_remedy(remedy)
            .into()
    }

    /// Returns the reason in one sentence; empty if it was already printed.
    pub(crate) fn message(&self) -> &str {
        match &self.cause {
            Cause::Error(error) => &error.message,
            Cause::Shown => "",
        }
    }

    /// Returns the error; `None` if it was already printed.
    pub(crate) fn error(&self) -> Option<&ToolError> {
        match &self.cause {
            Cause::Error(error) => Some(error),
            Cause::Shown => None,
        }
    }

    pub(crate) fn show(&self, output: &Output) {
        let Cause::Error(error) = &self.cause else {
            return;
        };
        if output.json {
            output.note_json(&ErrorDocument { error });
            return;
        }
        output.always_note(&format!(
            "{} {}",
            output.paint(Paint::Bad, "error:"),
            error.message
        ));
        if !error.nearest.is_empty() {
            output.always_note(&format!("  did you mean {}?", error.nearest.join(", ")));
        }
        output.always_note(&format!("  {} [{}]", error.remedy, error.reason));
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self {
            exit: error.reason.exit_code(),
            cause: Cause::Error(Box::new(error)),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let place = match (&problem.file, problem.line, problem.column) {
            (Some(file), Some(line), Some(column)) => {
                format!("{}:{line}:{column}: ", file.display())
            }
            // A message about a whole file already names it.
            _ => String::new(),
        };
        let message = format!("{place}{}", problem.message);
        ToolError::new(problem.reason, message)
            .with_remedy(problem.help)
            .into()
    }
}
