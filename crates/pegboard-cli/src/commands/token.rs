//! `pegboard token`: prints or rotates the tokens of HTTP clients.

use pegboard_gateway::http::{admin_token, rotate_admin_token, rotate_token, token};
use serde::Serialize;

use super::{CommandResult, Global, Output, builder};
use crate::args::TokenArgs;

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
