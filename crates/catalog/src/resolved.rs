//! A tool that a name was resolved to.

use std::sync::Arc;

use pegboard_model::{ExposedName, Reason, ServerName, ToolError, ToolResult};

use crate::entry::ServerEntry;
use crate::snapshot::Catalog;
use crate::view::ToolView;

/// The result of resolving a name, once, at the edge. It identifies a tool by its server and the server's own name for
/// it, so that no later step can confuse it with another server's tool of the same name.
#[derive(Clone, Debug)]
pub struct ResolvedTool {
    exposed: ExposedName,
    owner: Owner,
}

#[derive(Clone, Debug)]
enum Owner {
    /// A server's entry, and the tool's position in its listing.
    Server(Arc<ServerEntry>, usize),
    Host,
}

impl ResolvedTool {
    pub(crate) fn of_server(
        exposed: ExposedName,
        entry: Arc<ServerEntry>,
        position: usize,
    ) -> Self {
        let owner = Owner::Server(entry, position);
        Self { exposed, owner }
    }

    pub(crate) fn of_host(exposed: ExposedName) -> Self {
        let owner = Owner::Host;
        Self { exposed, owner }
    }

    /// The name that models see.
    pub fn exposed(&self) -> &ExposedName {
        &self.exposed
    }

    /// The server that has it; `None` for a tool of the host program.
    pub fn server(&self) -> Option<&ServerName> {
        match &self.owner {
            Owner::Server(entry, _) => Some(entry.name()),
            Owner::Host => None,
        }
    }
}

impl Catalog {
    /// Resolves a name in any form that [`Catalog::find`] accepts.
    ///
    /// # Errors
    /// Fails as [`Catalog::find`] does.
    pub fn resolve(&self, written: &str) -> ToolResult<ResolvedTool> {
        self.find(written).map(|view| view.resolved())
    }

    /// Returns a resolved tool as it is in this snapshot.
    ///
    /// # Errors
    /// Fails if its server no longer has it, or if it is no longer offered.
    pub fn current(&self, tool: &ResolvedTool) -> ToolResult<ToolView<'_>> {
        let view = match &tool.owner {
            Owner::Server(resolved, position) => self.server(resolved.name()).and_then(|entry| {
                if Arc::ptr_eq(entry, resolved) {
                    return entry.tool_listed(*position);
                }
                entry.named(resolved.tool_listed(*position)?.name())
            }),
            Owner::Host => self
                .static_tool(tool.exposed.as_str())
                .map(ToolView::of_static),
        };
        match view {
            Some(view) => self.require_offered(view),
            None => Err(self.gone(tool)),
        }
    }

    /// Why a resolved tool is not in this snapshot, with suggestions.
    fn gone(&self, tool: &ResolvedTool) -> ToolError {
        let name = tool.exposed.as_str();
        self.find(name).err().unwrap_or_else(|| {
            let message = format!("tool `{name}` is no longer available");
            ToolError::new(Reason::ToolUnknown, message).at_tool(name)
        })
    }
}
