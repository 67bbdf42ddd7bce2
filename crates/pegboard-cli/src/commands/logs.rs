//! `pegboard logs`: prints what a server wrote to its standard error.

use pegboard_model::UntrustedText;
use serde::Serialize;

use super::{CommandResult, Global, Output, load_config, server_name};
use crate::args::LogsArgs;

#[derive(Serialize)]
struct Document<'a> {
    server: &'a str,
    lines: Vec<&'a str>,
}

pub(crate) fn run(args: &LogsArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let server = server_name(&args.server, &configuration)?;
    let text = configuration.logs().read(&server)?;
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
