//! Who runs the model.

use std::time::Duration;

use async_trait::async_trait;
use pegboard_formats::Format;
use pegboard_model::ToolError;
use serde_json::Value;

use crate::message::{Message, ToolUse};

/// A model's API. The two that come with this crate are [`crate::Anthropic`] and [`crate::OpenAi`].
#[async_trait]
pub trait Provider: Send + Sync {
    /// Who it is: `anthropic`, `openai`.
    fn name(&self) -> &str;

    /// The model that is asked.
    fn model(&self) -> &str;

    /// The format of its tools.
    fn format(&self) -> Format;

    /// The format in which tools wait outside the prompt until a search names them, where it has one.
    fn deferred_format(&self) -> Option<Format> {
        None
    }

    /// Lets the model speak once, and tells what it says while it does. An error leaves nothing behind: the same
    /// request may be made again.
    async fn turn(
        &self,
        request: TurnRequest<'_>,
        on_delta: &mut (dyn FnMut(TurnDelta) + Send),
    ) -> Result<Turn, ModelError>;
}

/// What a model is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TurnRequest<'a> {
    /// What it is to keep in mind.
    pub system: &'a str,
    /// What was said.
    pub messages: &'a [Message],
    /// The value of the request's `tools`.
    pub tools: &'a Value,
    /// Tokens that it may write.
    pub max_tokens: u32,
}

impl<'a> TurnRequest<'a> {
    /// A request, for whoever drives a provider directly.
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

/// A piece of what a model says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnDelta {
    /// Words for the person.
    Text(String),
    /// Words of its thinking.
    Thinking(String),
}

/// What a model said.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// All of it, as the provider wants it sent back.
    pub items: Vec<Value>,
    /// The words for the person.
    pub text: String,
    /// The tools that it wants called, in order.
    pub calls: Vec<ToolUse>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// The provider's own word for it.
    pub raw_finish_reason: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// The provider's id of the answer.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// It has said all, or waits for its tools.
    #[default]
    Done,
    /// It had no room for more.
    Length,
    /// The provider interrupted it; it goes on when it is asked again.
    Paused,
    /// It, or a filter, does not want to answer.
    Refused,
}

/// What a turn cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    /// Tokens read, with those that the provider had kept.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens of the input that the provider had kept.
    pub cached_tokens: u64,
}

impl Usage {
    /// Read and written together.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }
}

/// Why a model did not answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct ModelError {
    /// What happened.
    pub error: ToolError,
    /// Whether the same request may succeed later.
    pub is_transient: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// A failure that another try would not change.
    pub fn last(error: ToolError) -> Self {
        Self {
            error,
            is_transient: false,
            retry_after: None,
        }
    }

    /// A failure after which another try is worth while.
    pub fn transient(error: ToolError) -> Self {
        Self {
            error,
            is_transient: true,
            retry_after: None,
        }
    }
}
