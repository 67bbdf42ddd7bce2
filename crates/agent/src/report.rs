//! What came of a run.

use std::time::Duration;

use pegboard_model::{ServerName, ToolResult};
use serde::Serialize;

use crate::provider::Usage;

/// What came of a run, also of one that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// The model's last words; the error says why there are none.
    pub answer: ToolResult<String>,
    /// Every tool that was called, in the order in which the calls ended, with its server.
    pub used: Vec<UsedTool>,
    /// What all turns cost.
    pub usage: Usage,
    /// How often the model was asked.
    pub turns: usize,
    /// How many calls it made, with those of the meta tools.
    pub calls: usize,
    /// About how many tokens of definitions the model did not have to read, all turns together.
    pub saved_tokens: u64,
    /// How long it took.
    pub took: Duration,
}

impl RunReport {
    /// The servers whose tools were used, each once, sorted.
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
    /// The name that models see; as the model wrote it where no tool is called so.
    pub tool: String,
    /// Its server; none for a tool of the host program, and for one that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerName>,
    /// `ok`, or the code of what went wrong.
    pub outcome: String,
    /// How long it took.
    #[serde(rename = "took_ms", serialize_with = "crate::event::millis")]
    pub took: Duration,
}
