//! A small agent loop with access to all tools of Pegboard.
//!
//! An [`Agent`] sends requests to a model through a [`Provider`], runs the tool calls of the model through the hub,
//! and continues until the model has an answer or a limit of its [`Budget`] is reached. Programs with their own
//! loop can use the parts: [`Definitions`] for the model's requests and a [`Toolbox`] that runs its calls.
//!
//! Invariant: in a [`Conversation`] every tool call has exactly one output, even after failures.
//! Invariant: every tool call goes through `Hub::call` and therefore through the policy gate.
//! Invariant: calls of a model pass `RenderedTools::restore`, so that a tool gets its original argument names.
//! Invariant: requests are sent only through `pegboard_upstream::ApiEndpoint`; an API key is a `Secret` and is
//! never printed.
//! Invariant: errors are values. A failing provider ends the run, a failing tool or server is reported to the
//! model, and nothing panics.

// The loop.
mod agent;
mod budget;
mod calls;
mod event;
mod model_turn;
mod report;
mod retry;

// Definitions for the model, and execution of its calls.
mod content;
mod definitions;
mod lookup;
mod render;
mod toolbox;
mod transcript;

// Providers.
mod anthropic;
mod message;
mod openai;
mod provider;
mod provider_http;

pub use agent::Agent;
pub use anthropic::Anthropic;
pub use budget::{Budget, BudgetExceeded};
pub use content::Content;
pub use definitions::{Definitions, Loading};
pub use event::AgentEvent;
pub use message::{
    Conversation, Message, ToolOutput, ToolOutputBody, ToolUse, ToolUseKind, parse_arguments,
};
pub use openai::OpenAi;
pub use provider::{FinishReason, ModelError, Provider, Turn, TurnDelta, TurnRequest, Usage};
pub use render::render_tools;
pub use report::{RunReport, UsedTool};
pub use retry::Retry;
pub use tokio_util::sync::CancellationToken;
pub use toolbox::{ExecutedCall, Toolbox};
pub use transcript::{CalledTool, called_tools};
