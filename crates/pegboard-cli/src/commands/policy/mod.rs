//! `pegboard policy`: lists, tests and changes policies and grants.

pub(crate) mod args;
mod edit;
mod explain;
mod grants;
mod list;

use std::path::PathBuf;

use pegboard_model::{Policy, UntrustedText};

use super::{CommandResult, Global, Output};
use crate::output::Paint;
use args::{PolicyArg, PolicyCommand};

pub(crate) fn run(command: PolicyCommand, global: &Global, output: &Output) -> CommandResult {
    match command {
        PolicyCommand::List => list::list(global, output),
        PolicyCommand::Set(args) => edit::set(&args, global, output),
        PolicyCommand::Unset(args) => edit::unset(&args, global, output),
        PolicyCommand::Test { tool } => explain::test(&tool, global, output),
        PolicyCommand::Grants => grants::list(global, output),
        PolicyCommand::Revoke { tool } => grants::revoke(&tool, global, output),
    }
}

impl From<PolicyArg> for Policy {
    fn from(word: PolicyArg) -> Self {
        match word {
            PolicyArg::Allow => Self::Allow,
            PolicyArg::Ask => Self::Ask,
            PolicyArg::Deny => Self::Deny,
            PolicyArg::Disable => Self::Disable,
        }
    }
}

fn colored_policy(policy: Policy, output: &Output) -> String {
    let paint = match policy {
        Policy::Allow => Paint::Good,
        Policy::Ask => Paint::Warn,
        Policy::Deny | Policy::Disable => Paint::Bad,
    };
    output.paint(paint, policy.as_str())
}

fn location(file: Option<&PathBuf>, line: Option<usize>) -> String {
    let file = file.map(|file| file.display().to_string());
    let file = file.map(|file| UntrustedText::new(&file).to_string());
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file,
        _ => String::new(),
    }
}
