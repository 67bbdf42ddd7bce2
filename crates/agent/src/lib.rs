//! A small agent loop over a model's API, with every tool of Pegboard in reach.
//!
//! An [`Agent`] asks a model through a [`Provider`], runs the tools that the model wants through the hub, hands the
//! results back, and goes on until the model has an answer or a limit of its [`Budget`] is reached. Whoever has a
//! loop already takes only the parts: [`Definitions`] for the model, a [`Toolbox`] that runs its calls.
//!
//! Invariant: in a [`Conversation`] every call of the model has exactly one answer, whatever failed.
//! Invariant: every call of a tool passes `Hub::call`, and so the policy gate; this crate knows no other way.
//! Invariant: what a model calls passes `RenderedTools::restore`, so that a tool gets its own argument names.
//! Invariant: requests leave through `pegboard_upstream::ApiEndpoint` alone; an API key is a `Secret` and is never shown.
//! Invariant: errors are values. A provider that fails ends the run, a tool or server that fails is told to the
//! model, and nothing panics.

#![allow(
    clippy::result_large_err,
    reason = "errors are rare and read by field; boxing them would only hide that"
)]

// The loop.
mod agent;
mod budget;
mod calls;
mod cancel;
mod event;
mod model_turn;
mod report;
mod retry;

// What a model is offered, and what runs its calls.
mod content;
mod definitions;
mod meta;
mod render;
mod toolbox;
mod transcript;

// Models.
mod anthropic;
mod message;
mod openai;
mod provider;
mod provider_http;

pub use agent::Agent;
pub use anthropic::Anthropic;
pub use budget::{Budget, BudgetExceeded};
pub use cancel::Cancel;
pub use content::Content;
pub use definitions::{Definitions, Loading};
pub use event::AgentEvent;
pub use message::{Conversation, Message, ToolOutput, ToolOutputBody, ToolUse, ToolUseKind};
pub use openai::OpenAi;
pub use provider::{FinishReason, ModelError, Provider, Turn, TurnDelta, TurnRequest, Usage};
pub use render::render_tools;
pub use report::{RunReport, UsedTool};
pub use retry::Retry;
pub use toolbox::{ExecutedCall, Toolbox};
pub use transcript::{CalledTool, called_tools};
