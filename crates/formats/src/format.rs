//! The supported formats.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The format of a provider's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Anthropic Messages, every tool in the prompt.
    Anthropic,
    /// Anthropic Messages with `defer_loading`: a tool is added to the prompt when a search returns it.
    AnthropicDeferred,
    /// OpenAI Responses, every tool in the prompt.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// OpenAI Responses with one `namespace` per server and `defer_loading`.
    #[serde(rename = "openai-deferred")]
    OpenAiDeferred,
    /// OpenAI Chat Completions and compatible services.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// Gemini and Vertex AI: function declarations in the OpenAPI subset.
    Gemini,
    /// Amazon Bedrock Converse.
    Bedrock,
}

/// The error for an unknown format name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{}`; use one of {}", pegboard_model::UntrustedText::new(.0).shortened(40), Format::names())]
pub struct UnknownFormat(pub String);

impl Format {
    /// All formats, in the order of the documentation.
    pub fn all() -> [Self; 7] {
        [
            Self::Anthropic,
            Self::AnthropicDeferred,
            Self::OpenAiResponses,
            Self::OpenAiDeferred,
            Self::OpenAiChat,
            Self::Gemini,
            Self::Bedrock,
        ]
    }

    /// The name used in `pegboard export --format NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::AnthropicDeferred => "anthropic-deferred",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiDeferred => "openai-deferred",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }

    /// Whether tools are loaded into the prompt on demand.
    pub fn is_deferred(self) -> bool {
        matches!(self, Self::AnthropicDeferred | Self::OpenAiDeferred)
    }

    fn names() -> String {
        Self::all().map(|f| format!("`{f}`")).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::all()
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_reg_07_every_format_is_found_by_its_name() {
        for format in Format::all() {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert_eq!(serde_json::to_value(format).unwrap(), format.name());
        }
        let error = "open-ai".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("`openai-responses`"), "{error}");
    }
}
