//! The tool that somebody named, asking no more servers than the name calls for.

use std::sync::Arc;

use pegboard_catalog::Catalog;
use pegboard_hub::{Hub, RefreshScope};
use pegboard_model::{Reason, SEPARATOR, ServerName, ToolRef};

use super::server_name;
use crate::Configured;
use crate::cli::failure::Failure;

/// A catalog in which the tool is found. A name with a server in it asks exactly that server, and only
/// when nothing is known of it; a bare name asks all that were never seen.
pub(crate) async fn catalog_with(tool: &str, hub: &Hub) -> Result<Arc<Catalog>, Failure> {
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

/// Says what is wrong with the definition of the server that a tool's name begins with.
pub(crate) fn refuse_broken(tool: &str, configured: &Configured) -> Result<(), Failure> {
    // A name that is no server's name may still be what somebody wrote in the file.
    let ends = tool.match_indices('/').chain(tool.match_indices(SEPARATOR));
    let broken = ends
        .filter_map(|(at, _)| tool.get(..at))
        .find(|server| configured.loaded.broken_problem(server).is_some());
    match broken {
        Some(server) => server_name(server, configured).map(drop),
        None => Ok(()),
    }
}

/// The configured server that a name begins with.
fn server_in(tool: &str, catalog: &Catalog) -> Option<ServerName> {
    match ToolRef::parse(tool)? {
        ToolRef::Qualified { server, .. } => catalog.server(&server).map(|_| server),
        ToolRef::Bare(_) => None,
    }
}
