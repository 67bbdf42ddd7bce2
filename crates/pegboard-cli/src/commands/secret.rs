//! `pegboard secret`: stores values that config files refer to by name.

use std::io::{IsTerminal, Read};

use clap::Subcommand;
use pegboard_config::SecretBackend;
use pegboard_model::Secret;
use serde::Serialize;

use super::{CommandResult, Global, Output, builder};
use crate::failure::Failure;

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a value from a prompt or from standard input
    Set {
        /// The name to use in ${secret:NAME}
        name: String,
    },
    /// List the names; values are never shown
    List,
    /// Delete a value
    Rm {
        /// The name
        name: String,
    },
}

#[derive(Serialize)]
struct Document {
    secrets: Vec<pegboard_config::SecretInfo>,
}

pub(crate) fn run(command: SecretCommand, global: &Global, output: &Output) -> CommandResult {
    let configuration = builder(global).load()?;
    let keeper = configuration.secrets();
    match command {
        SecretCommand::Set { name } => {
            let kept = keeper.set(&name, read_value(&name)?)?;
            let place = place(kept.backend);
            output.note(&format!(
                "stored `{name}` in {place}; refer to it in config as ${{secret:{name}}}"
            ));
        }
        SecretCommand::List => {
            let secrets = keeper.list()?;
            if output.json {
                return output.document(&Document { secrets });
            }
            if secrets.is_empty() {
                output.note("No secrets are stored. Store one with `pegboard secret set NAME`.");
            }
            for secret in secrets {
                output.line(&format!("{}  ({})", secret.name, place(secret.backend)))?;
            }
        }
        SecretCommand::Rm { name } => {
            if !keeper.remove(&name)? {
                let message = format!("secret `{name}` is not stored");
                let error = pegboard_model::ToolError::new(
                    pegboard_model::Reason::ConfigSecretMissing,
                    message,
                );
                return Err(error
                    .with_remedy("List the names with `pegboard secret list`.")
                    .into());
            }
            output.note(&format!("deleted `{name}`"));
        }
    }
    Ok(())
}

/// Describes where a value is stored.
pub(crate) fn place(backend: SecretBackend) -> &'static str {
    match backend {
        SecretBackend::File => "a file that only you can read",
        SecretBackend::Keychain => "the system's keychain",
    }
}

/// Reads a value from a prompt that does not echo it, or from standard input without a final line break.
fn read_value(name: &str) -> Result<Secret, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(
            format!("no value for `{name}`: {error}"),
            "Type it, or pipe it in.",
        )
    };
    let value = if std::io::stdin().is_terminal() {
        rpassword::prompt_password(format!("Value of {name}: ")).map_err(unreadable)?
    } else {
        let mut text = String::new();
        std::io::stdin()
            .lock()
            .read_to_string(&mut text)
            .map_err(unreadable)?;
        text.strip_suffix('\n')
            .map(|t| t.strip_suffix('\r').unwrap_or(t))
            .unwrap_or(&text)
            .to_owned()
    };
    if value.is_empty() {
        let message = format!("the value of `{name}` is empty");
        return Err(Failure::usage(message, "Type it, or pipe it in."));
    }
    Ok(Secret::new(value))
}
