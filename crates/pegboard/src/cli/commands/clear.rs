//! `pegboard clear`: forget the stored tools of servers.

use pegboard_model::{Reason, ToolError};
use pegboard_store::{SqliteStore, Store};
use serde::Serialize;

use super::{CommandResult, Global, Output, configured, reading, server_name};
use crate::cli::args::ClearArgs;
use crate::cli::prompts::{can_ask, confirm, count};

#[derive(Serialize)]
struct Document {
    cleared: usize,
}

pub(crate) fn run(args: &ClearArgs, global: &Global, output: &Output) -> CommandResult {
    let configured = configured(global, output)?;
    let server = args.server.as_deref();
    let server = server
        .map(|name| server_name(name, &configured))
        .transpose()?;
    let what = match &server {
        Some(name) => format!("the stored tools of server `{name}`"),
        None => "the stored tools of all servers".to_owned(),
    };
    let is_confirmed = args.yes || (can_ask() && confirm(&format!("Forget {what}?"), false));
    if !is_confirmed {
        let message = format!("{what} were not forgotten, because it was not confirmed");
        let error = ToolError::new(Reason::Cancelled, message);
        return Err(error
            .with_remedy("Confirm on a terminal, or add `--yes`.")
            .into());
    }
    reading(async {
        let (store, _) = SqliteStore::open(&configured.state)?;
        let cleared = match &server {
            Some(name) => usize::from(store.forget(name).await?),
            None => store.clear().await?,
        };
        if output.json {
            return output.document(&Document { cleared });
        }
        let lists = count(cleared, "stored list");
        output.note(&format!(
            "forgot {lists}; tools are discovered again when they are needed"
        ));
        Ok(())
    })
}
