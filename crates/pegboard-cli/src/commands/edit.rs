//! `pegboard remove`, `enable`, `disable` and `edit`: changes to the config file.

use std::path::PathBuf;

use clap::Args;
use pegboard::Configuration;
use pegboard_config::edit::{remove_server, set_enabled, set_value};
use pegboard_model::{Layer, Reason, ServerName, ServerSpec, ToolError};
use pegboard_store::{SqliteStore, Store};

use super::{
    CommandResult, Global, Output, builder, load_config, reading, report_problems, server_name,
};
use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct EditArgs {
    /// The server's name
    pub(crate) server: String,
    /// The key, as in the config file
    pub(crate) key: String,
    /// The new value; JSON values such as true or 5 keep their type
    pub(crate) value: String,
}

pub(crate) fn remove(server: &str, global: &Global, output: &Output) -> CommandResult {
    let (name, file) = target(server, global, output)?;
    let before = builder(global).load()?;
    remove_server(&file, &name)?;
    output.note(&format!("removed server `{name}` from {}", file.display()));
    let after = builder(global).load()?;
    if after.loaded.servers.contains_key(&name) {
        output.note(&format!("another file still defines server `{name}`"));
        return Ok(());
    }
    let spec = before.loaded.servers.get(&name).cloned();
    reading(async {
        if let Some(spec) = spec {
            end_login(&spec, &after).await;
        }
        forget(&name, &after).await
    })
}

/// Removing a server is a logout. A service that cannot be reached does not keep the server.
async fn end_login(spec: &ServerSpec, configuration: &Configuration) {
    let logins = configuration.logins();
    if logins.version(spec).is_some() {
        let _ = logins.logout(spec).await;
    }
}

/// Deletes the stored data of a server that is no longer configured.
async fn forget(name: &ServerName, configuration: &Configuration) -> CommandResult {
    let (store, _) = SqliteStore::open(&configuration.state)?;
    store.forget(name).await?;
    configuration.logs().forget(name)?;
    Ok(())
}

pub(crate) fn enable(
    server: &str,
    enabled: bool,
    global: &Global,
    output: &Output,
) -> CommandResult {
    let (name, file) = target(server, global, output)?;
    let before = builder(global).load()?;
    let spec = before.loaded.servers.get(&name);
    if let Some(error) = spec.and_then(|spec| spec.variable_error(enabled)) {
        return Err(error.into());
    }
    set_enabled(&file, &name, enabled)?;
    let word = if enabled { "enabled" } else { "disabled" };
    output.note(&format!("{word} server `{name}` in {}", file.display()));
    Ok(())
}

pub(crate) fn set(args: &EditArgs, global: &Global, output: &Output) -> CommandResult {
    let (name, file) = target(&args.server, global, output)?;
    let value = serde_json::from_str(&args.value).unwrap_or_else(|_| args.value.clone().into());
    set_value(&file, &name, &args.key, &value)?;
    output.note(&format!(
        "set `{}` of server `{name}` in {}",
        args.key,
        file.display()
    ));
    let after = builder(global).load()?;
    report_problems(&after, output, |problem| {
        problem.server.as_deref() == Some(name.as_str())
    });
    Ok(())
}

/// Returns the name of a server and the file that defines it, even if the definition is invalid.
pub(super) fn target(
    server: &str,
    global: &Global,
    output: &Output,
) -> Result<(ServerName, PathBuf), Failure> {
    let configuration = load_config(global, output)?;
    if let Some(found) = broken_target(server, &configuration) {
        return Ok(found);
    }
    let name = server_name(server, &configuration)?;
    let origin = configuration
        .loaded
        .servers
        .get(&name)
        .map(|spec| spec.origin.clone());
    match origin.and_then(|origin| Some((origin.layer, origin.file?))) {
        Some((Layer::User | Layer::Project | Layer::Flag, file)) => Ok((name, file)),
        _ => {
            let message =
                format!("server `{name}` is defined by an environment variable, not by a file");
            let error = ToolError::new(Reason::ConfigInvalid, message).at_server(&name);
            let variable = format!("{}_MCP_URL", name.as_str().to_uppercase());
            Err(error
                .with_remedy(format!("Unset or change `{variable}`."))
                .into())
        }
    }
}

fn broken_target(server: &str, configuration: &Configuration) -> Option<(ServerName, PathBuf)> {
    let problem = configuration.loaded.broken_problem(server)?;
    Some((ServerName::parse(server).ok()?, problem.file.clone()?))
}
