//! `pegboard token`: prints or rotates the tokens of HTTP clients.

use clap::Args;
use pegboard_gateway::http::{admin_token, rotate_admin_token, rotate_token, token};
use serde::Serialize;

use super::{CommandResult, Global, Output, builder};

#[derive(Args)]
pub(crate) struct TokenArgs {
    /// The admin token, which allows changing configuration and policies
    #[arg(long)]
    pub(crate) admin: bool,
    /// Create a new token; the old one stops working
    #[arg(long)]
    pub(crate) rotate: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    token: &'a str,
}

pub(crate) fn run(args: &TokenArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = builder(global).load()?;
    let state = configuration.state.path();
    let token = match (args.rotate, args.admin) {
        (true, false) => {
            let token = rotate_token(state)?;
            output.note("The old token no longer works; give this one to your clients.");
            token
        }
        (true, true) => {
            let token = rotate_admin_token(state)?;
            output.note("The old token no longer works; this one allows changing everything.");
            token
        }
        (false, false) => token(state)?,
        (false, true) => admin_token(state)?,
    };
    let token = token.reveal();
    if output.json {
        return output.document(&Document { token });
    }
    output.line(token)
}
