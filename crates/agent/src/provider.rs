//! The interface to model providers.

use std::time::Duration;

use async_trait::async_trait;
use pegboard_formats::Format;
use pegboard_model::ToolError;
use serde_json::Value;

use crate::message::{Message, ToolUse};

/// A model's API. This crate implements it for [`crate::Anthropic`] and [`crate::OpenAi`].
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the provider's name: `anthropic`, `openai`.
    fn name(&self) -> &str;

    /// Returns the name of the model.
    fn model(&self) -> &str;

    /// Returns the format of tool definitions.
    fn format(&self) -> Format;

    /// Returns the format for deferred loading of tools, if the provider supports it.
    fn deferred_format(&self) -> Option<Format> {
        None
    }

    /// Requests one turn and reports text while it arrives. After an error the same request may be made again.
    ///
    /// # Errors
    ///
    /// Fails if the provider cannot be reached, rejects the request, or ends the stream early.
    async fn turn(
        &self,
        request: TurnRequest<'_>,
        on_delta: &mut (dyn FnMut(TurnDelta) + Send),
    ) -> Result<Turn, ModelError>;
}

/// A request for one turn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TurnRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation.
    pub messages: &'a [Message],
    /// The value of the request's `tools`.
    pub tools: &'a Value,
    /// Maximum number of tokens to generate.
    pub max_tokens: u32,
}

impl<'a> TurnRequest<'a> {
    /// Creates a request, for programs that call a provider directly.
    pub fn new(
        system: &'a str,
        messages: &'a [Message],
        tools: &'a Value,
        max_tokens: u32,
    ) -> Self {
        Self {
            system,
            messages,
            tools,
            max_tokens,
        }
    }
}

/// A fragment of the text that a model writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnDelta {
    /// Text for the user.
    Text(String),
    /// Reasoning text.
    Thinking(String),
}

/// A finished turn of a model.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// All items, in the form in which the provider expects them in later requests.
    pub items: Vec<Value>,
    /// The text for the user.
    pub text: String,
    /// The tool calls, in order.
    pub calls: Vec<ToolUse>,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// The provider's own value of the finish reason.
    pub raw_finish_reason: Option<String>,
    /// Tokens used.
    pub usage: Usage,
    /// The provider's id of the response.
    pub id: Option<String>,
    /// The model that responded.
    pub model: Option<String>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model is done, or waits for tool outputs.
    #[default]
    Done,
    /// The token limit was reached.
    Length,
    /// The provider interrupted the turn; the model continues with the next request.
    Paused,
    /// The model or a content filter refused.
    Refused,
}

/// Tokens used by a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that the provider had cached.
    pub cached_tokens: u64,
}

impl Usage {
    /// Returns the sum of input and output tokens.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }
}

/// A failed request to a model.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct ModelError {
    /// The error.
    pub error: ToolError,
    /// Whether a retry may succeed.
    pub is_transient: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// Creates an error that a retry would not change.
    pub fn last(error: ToolError) -> Self {
        Self {
            error,
            is_transient: false,
            retry_after: None,
        }
    }

    /// Creates an error after which a retry may succeed.
    pub fn transient(error: ToolError) -> Self {
        Self {
            error,
            is_transient: true,
            retry_after: None,
        }
    }
}
