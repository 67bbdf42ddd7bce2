//! `pegboard completions`: prints a script that asks this program for candidates, so that the names of servers and
//! tools are completed too.

use clap::{Args, ValueEnum};
use clap_complete::env::Shells;

use super::{CommandResult, Output};
use crate::completion::VARIABLE;
use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: ShellArg,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ShellArg {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl ShellArg {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Elvish => "elvish",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Zsh => "zsh",
        }
    }
}

/// Zsh loads a file in its function path when the first completion is wanted, and that one must be answered too.
const ZSH_AUTOLOAD: &str = "\
if [ \"$funcstack[1]\" = \"_pegboard\" ]; then
    _clap_dynamic_completer_pegboard \"$@\"
fi
";

pub(crate) fn run(args: &CompletionsArgs, output: &Output) -> CommandResult {
    let shells = Shells::builtins();
    let name = args.shell.name();
    let mut script = Vec::new();
    let written = shells.completer(name).map(|shell| {
        shell.write_registration(VARIABLE, "pegboard", "pegboard", "pegboard", &mut script)
    });
    if let ShellArg::Zsh = args.shell {
        script.extend_from_slice(ZSH_AUTOLOAD.as_bytes());
    }
    match written {
        Some(Ok(())) => output.bytes(&script),
        _ => Err(Failure::usage(
            format!("no completion script for `{name}`"),
            "Choose one of bash, elvish, fish, powershell and zsh.",
        )),
    }
}
