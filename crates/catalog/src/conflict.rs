//! Tools that are left out because the host program has one of the same name.

use pegboard_model::ServerName;
use serde::Serialize;

/// A server's tool that a static tool of the same exposed name hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The exposed name that both have.
    pub name: String,
    /// The server whose tool is left out.
    pub server: ServerName,
    /// That tool's own name.
    pub tool: String,
}
