//! The report of a run.

use std::time::Duration;

use pegboard_model::{ServerName, ToolResult};
use serde::Serialize;

use crate::provider::Usage;

/// The report of a run, successful or not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// The model's final text, or why there is none.
    pub answer: ToolResult<String>,
    /// The tools that were called, in the order in which the calls finished.
    pub used: Vec<UsedTool>,
    /// Tokens used by all turns.
    pub usage: Usage,
    /// Number of turns.
    pub turns: usize,
    /// Number of calls, including those of meta tools.
    pub calls: usize,
    /// Estimated tokens of definitions that the model did not have to read, in all turns.
    pub saved_tokens: u64,
    /// The duration of the run.
    pub took: Duration,
}

impl RunReport {
    /// Returns the servers whose tools were called, sorted and without duplicates.
    pub fn servers(&self) -> Vec<&ServerName> {
        let mut servers: Vec<_> = self
            .used
            .iter()
            .filter_map(|used| used.server.as_ref())
            .collect();
        servers.sort();
        servers.dedup();
        servers
    }
}

/// A tool that a model called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsedTool {
    /// The exposed name, or the name that the model wrote if the tool is unknown.
    pub tool: String,
    /// The tool's server; `None` for static tools and unknown ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// `ok` or an error code.
    pub outcome: String,
    /// The duration of the call.
    #[serde(rename = "took_ms", serialize_with = "crate::event::millis")]
    pub took: Duration,
}
