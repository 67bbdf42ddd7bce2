//! `pegboard clear`: deletes the stored tool lists of servers.

use clap::Args;
use pegboard_model::{Reason, ToolError};
use pegboard_store::{SqliteStore, Store};
use serde::Serialize;

use super::{CommandResult, Global, Output, load_config, reading, server_name};
use crate::format::count;
use crate::prompts::{can_ask, confirm};

#[derive(Args)]
pub(crate) struct ClearArgs {
    /// The server [default: all]
    pub(crate) server: Option<String>,
    /// Delete without a prompt
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Serialize)]
struct Document {
    cleared: usize,
}

pub(crate) fn run(args: &ClearArgs, global: &Global, output: &Output) -> CommandResult {
    let configuration = load_config(global, output)?;
    let server = args.server.as_deref();
    let server = server
        .map(|name| server_name(name, &configuration))
        .transpose()?;
    let what = match &server {
        Some(name) => format!("the stored tool list of server `{name}`"),
        None => "the stored tool lists of all servers".to_owned(),
    };
    let is_confirmed = args.yes || (can_ask() && confirm(&format!("Delete {what}?"), false));
    if !is_confirmed {
        let message = format!("not confirmed: did not delete {what}");
        let error = ToolError::new(Reason::Cancelled, message);
        return Err(error
            .with_remedy("Confirm at a terminal, or add `--yes`.")
            .into());
    }
    reading(async {
        let (store, _) = SqliteStore::open(&configuration.state)?;
        let cleared = match &server {
            Some(name) => usize::from(store.forget(name).await?),
            None => store.clear().await?,
        };
        if output.json {
            return output.document(&Document { cleared });
        }
        let lists = count(cleared, "stored list");
        output.note(&format!(
            "deleted {lists}; tools are discovered again when needed"
        ));
        Ok(())
    })
}
