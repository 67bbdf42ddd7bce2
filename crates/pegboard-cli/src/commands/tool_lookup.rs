//! Finds a tool by the name that the user gave, and discovers only the servers needed for that.

use std::sync::Arc;

use pegboard::Configuration;
use pegboard_catalog::Catalog;
use pegboard_hub::{Hub, RefreshScope};
use pegboard_model::{Reason, SEPARATOR, ServerName, ToolRef};

use super::server_name;
use crate::failure::Failure;

/// Returns a catalog that contains the tool. A qualified name discovers only its server, and only if the server was
/// never discovered; a bare name discovers all undiscovered servers.
async fn catalog_with(tool: &str, hub: &Hub) -> Result<Arc<Catalog>, Failure> {
    let known = hub.catalog();
    match known.find(tool) {
        Ok(_) => return Ok(known),
        Err(error) if error.reason != Reason::ToolUnknown => return Err(error.into()),
        Err(_) => {}
    }
    match server_in(tool, &known) {
        Some(server)
            if known
                .server(&server)
                .is_some_and(|entry| !entry.record.is_known()) =>
        {
            let outcomes = hub.refresh(RefreshScope::One(server), true).await?;
            if let Some(error) = outcomes
                .into_iter()
                .find_map(|outcome| outcome.result.err())
            {
                return Err(error.into());
            }
        }
        Some(_) => {}
        None => drop(hub.ensure_known().await),
    }
    let catalog = hub.catalog();
    catalog.find(tool)?;
    Ok(catalog)
}

/// Returns a catalog that contains the tool, and the tool's name as the catalog knows it. `server.tool` means
/// `server/tool` unless a tool has that name itself.
pub(crate) async fn find_tool(written: &str, hub: &Hub) -> Result<(Arc<Catalog>, String), Failure> {
    let known = hub.catalog();
    let is_known = known.find(written).is_ok();
    let dotted = dotted(written, &known).filter(|_| !is_known);
    let Some(qualified) = dotted else {
        let catalog = catalog_with(written, hub).await?;
        return Ok((catalog, written.to_owned()));
    };
    match catalog_with(&qualified, hub).await {
        Ok(catalog) => Ok((catalog, qualified)),
        // A server that was never discovered may have a tool with a dot in its name.
        Err(failure) => match catalog_with(written, hub).await {
            Ok(catalog) => Ok((catalog, written.to_owned())),
            Err(_) => Err(failure),
        },
    }
}

/// Returns `server/tool` for `server.tool`, if the server is configured.
fn dotted(written: &str, catalog: &Catalog) -> Option<String> {
    let (server, tool) = written.split_once('.')?;
    let server = ServerName::parse(server).ok()?;
    let is_configured = catalog.server(&server).is_some() && !tool.is_empty();
    is_configured.then(|| format!("{server}/{tool}"))
}

/// Fails if the tool's name starts with the name of a server whose definition is invalid.
pub(crate) fn refuse_broken(tool: &str, configuration: &Configuration) -> Result<(), Failure> {
    // An invalid server name can still be a key in the config file.
    let ends = tool
        .match_indices(['/', '.'])
        .chain(tool.match_indices(SEPARATOR));
    let broken = ends
        .filter_map(|(at, _)| tool.get(..at))
        .find(|server| configuration.loaded.broken_problem(server).is_some());
    match broken {
        Some(server) => server_name(server, configuration).map(drop),
        None => Ok(()),
    }
}

/// Returns the configured server of a qualified name.
fn server_in(tool: &str, catalog: &Catalog) -> Option<ServerName> {
    match ToolRef::parse(tool)? {
        ToolRef::Qualified { server, .. } => catalog.server(&server).map(|_| server),
        ToolRef::Bare(_) => None,
    }
}
