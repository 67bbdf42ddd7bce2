//! When lists of tools are refreshed.

use serde::Serialize;

/// Which servers are refreshed in the background when a session starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RefreshOnStart {
    /// Servers that were never discovered.
    #[default]
    Unknown,
    /// Servers that were never discovered, and those whose list is stale.
    Stale,
    /// All servers.
    All,
}

impl RefreshOnStart {
    /// Returns the word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Stale => "stale",
            Self::All => "all",
        }
    }
}

/// What happens when a stale list is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StaleRefresh {
    /// The stale list is used. It is refreshed in the background if no process has to be started for that.
    #[default]
    Background,
    /// The list is refreshed first, within a deadline.
    Always,
}

impl StaleRefresh {
    /// Returns the word used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Background => "background",
            Self::Always => "always",
        }
    }
}
