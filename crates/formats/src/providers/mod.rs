//! One normaliser a provider.

use serde_json::Value;

use crate::restore::Restore;

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod gemini;
pub(crate) mod openai;
mod strict;
mod unsupported_keywords;

/// A schema as the provider takes it.
#[derive(Debug)]
pub(crate) struct ProviderSchema {
    /// `None` where the provider wants nothing at all for a tool without parameters.
    pub(crate) schema: Option<Value>,
    /// What the tool's description has to say in addition.
    pub(crate) sentences: Vec<String>,
    pub(crate) restore: Restore,
    /// Whether it fits OpenAI's strict mode.
    pub(crate) strict: bool,
}
