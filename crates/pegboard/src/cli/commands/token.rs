//! `pegboard token`: what HTTP clients have to show.

use pegboard_gateway::http::{rotate_token, token};
use serde::Serialize;

use super::{Done, Global, Output, options};
use crate::Configured;
use crate::cli::args::TokenArgs;

#[derive(Serialize)]
struct Document<'a> {
    token: &'a str,
}

pub(crate) fn run(args: &TokenArgs, global: &Global, output: &Output) -> Done {
    let configured = Configured::read(&options(global))?;
    let state = configured.state.path();
    let token = if args.rotate {
        let token = rotate_token(state)?;
        output.note("The old token counts no more; give this one to your clients.");
        token
    } else {
        token(state)?
    };
    let token = token.reveal();
    if output.json {
        return output.document(&Document { token });
    }
    output.line(token)
}
