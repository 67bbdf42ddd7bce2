//! Tools hidden by a static tool.

use pegboard_model::ServerName;
use serde::Serialize;

/// A server's tool that is hidden by a static tool of the same exposed name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The exposed name of both tools.
    pub name: String,
    /// The server of the hidden tool.
    pub server: ServerName,
    /// The hidden tool's name on its server.
    pub tool: String,
}
