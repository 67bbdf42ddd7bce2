//! What goes in.

use serde_json::Value;

/// One tool, as the catalog knows it.
#[derive(Clone, Debug, Default)]
pub struct SourceTool<'a> {
    /// The name under which models see it.
    pub name: &'a str,
    /// Its server; `None` for a tool of the host program.
    pub server: Option<&'a str>,
    /// What the server is for, for formats that group tools by server.
    pub server_description: Option<&'a str>,
    /// What it does.
    pub description: Option<&'a str>,
    /// The schema of its arguments, as the server wrote it.
    pub input_schema: &'a str,
    /// Arguments of example calls.
    pub examples: Vec<Value>,
}

/// Choices that are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Descriptions of tools are cut after so many characters. Some hosts of OpenAI's models take 1,024.
    pub description_max: Option<usize>,
    /// Whether OpenAI's strict mode is used where the schema fits it.
    pub strict: bool,
    /// Who searches, in the formats that load tools on demand.
    pub search: DeferredSearch,
}

/// Who searches for tools that are not in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeferredSearch {
    /// The provider, over the definitions it was sent.
    #[default]
    Provider,
    /// The caller, who answers the model's search with [`crate::anthropic_search_answer`] or
    /// [`crate::openai_search_answer`].
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
