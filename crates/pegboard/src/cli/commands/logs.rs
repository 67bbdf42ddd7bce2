//! `pegboard logs`: prints what a server wrote to its standard error.

use pegboard_model::UntrustedText;
use serde::Serialize;

use super::{CommandResult, Global, Output, configured, server_name};
use crate::cli::args::LogsArgs;

#[derive(Serialize)]
struct Document<'a> {
    server: &'a str,
    lines: Vec<&'a str>,
}

pub(crate) fn run(args: &LogsArgs, global: &Global, output: &Output) -> CommandResult {
    let configured = configured(global, output)?;
    let server = server_name(&args.server, &configured)?;
    let text = configured.logs().read(&server)?;
    let mut lines: Vec<&str> = text.lines().collect();
    if let Some(tail) = args.tail {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    if output.json {
        return output.document(&Document {
            server: server.as_str(),
            lines,
        });
    }
    if lines.is_empty() {
        output.note(&format!("server `{server}` has written nothing yet"));
    }
    lines
        .iter()
        .try_for_each(|line| output.line(&UntrustedText::new(line).to_string()))
}
