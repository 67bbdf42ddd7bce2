//! The input of a conversion.

use serde_json::Value;

/// A tool of the catalog.
#[derive(Clone, Debug, Default)]
pub struct SourceTool<'a> {
    /// The exposed name.
    pub name: &'a str,
    /// The server; `None` for a tool of the host program.
    pub server: Option<&'a str>,
    /// The server's description, for formats that group tools by server.
    pub server_description: Option<&'a str>,
    /// The tool's description.
    pub description: Option<&'a str>,
    /// The input schema, verbatim.
    pub input_schema: &'a str,
    /// Arguments of example calls.
    pub examples: Vec<Value>,
}

/// Options of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Maximum number of characters of a tool description. Some hosts of OpenAI models allow 1,024.
    pub description_max: Option<usize>,
    /// Whether OpenAI's strict mode is used where possible.
    pub strict: bool,
    /// Where the search runs, in formats that load tools on demand.
    pub search: DeferredSearch,
}

/// Where the search for deferred tools runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeferredSearch {
    /// At the provider, over the sent definitions.
    #[default]
    Provider,
    /// At the caller, which responds with [`crate::anthropic_search_result`] or
    /// [`crate::openai_search_result`].
    Client,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            description_max: None,
            strict: true,
            search: DeferredSearch::Provider,
        }
    }
}
