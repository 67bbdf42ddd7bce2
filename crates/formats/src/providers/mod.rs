//! The conversion for each provider.

use serde_json::Value;

use crate::restore::Restore;

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod gemini;
pub(crate) mod openai;
mod strict;
mod unsupported_keywords;

/// A schema in the form that the provider accepts.
#[derive(Debug)]
pub(crate) struct ProviderSchema {
    /// `None` if the provider requires no schema for a tool without parameters.
    pub(crate) schema: Option<Value>,
    /// Sentences to append to the tool's description.
    pub(crate) sentences: Vec<String>,
    pub(crate) restore: Restore,
    /// Whether the schema is valid for OpenAI's strict mode.
    pub(crate) strict: bool,
}
