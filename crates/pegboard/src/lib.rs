//! Every tool of every MCP server, known without starting any.
//!
//! Pegboard stands between an agent and MCP servers. It keeps a catalog of all tools that lasts between runs, finds
//! the right one, and starts exactly the server that is called. This crate is its front door for programs; the
//! command `pegboard` is built from the same parts.
//!
//! # A tour
//!
//! **Open it.** [`Pegboard::open`] reads the configuration that the command uses and the catalog that lasts. Nothing
//! is started, so it takes milliseconds.
//!
//! ```no_run
//! # async fn tour() -> pegboard::ToolResult<()> {
//! let pegboard = pegboard::Pegboard::open(pegboard::Options::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! **Bring your own tools.** [`Pegboard::register`] puts a closure beside the servers' tools, under the same rules.
//!
//! ```
//! # async fn tour(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
//! let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
//! pegboard.register("weather", "Says how the weather is.", schema, |arguments| async move {
//!     Ok(serde_json::json!({"city": arguments["city"], "sky": "blue"}))
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! **Give them to a model.** Three lines serve a model that you ask with a client of your own: the definitions, the
//! summary for the system prompt, and somebody to run the calls.
//!
//! ```no_run
//! # async fn tour(pegboard: &pegboard::Pegboard, call: pegboard::agent::ToolUse) {
//! let tools = pegboard.definitions(pegboard::Format::Anthropic).await; // request["tools"] = tools.document()
//! let system = pegboard.context_summary(); // request["system"]
//! let result = pegboard.answer(&tools, &call).await; // for each call of the model
//! # }
//! ```
//!
//! [`Pegboard::definitions`] offers five small tools that find, list, describe and call all others, in the
//! [`Format`] that the provider takes. [`Pegboard::definitions_by`] chooses otherwise: all definitions, or the
//! provider's own search. [`Pegboard::answer`] never fails: what goes wrong is told to the model.
//!
//! **Or let it ask.** [`Pegboard::agent`] gives a loop that asks Anthropic or OpenAI, or a [`agent::Provider`] of your
//! own, streams the answer, runs calls side by side, and keeps within an [`agent::Budget`].
//!
//! ```no_run
//! # async fn tour(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
//! use pegboard::agent::Anthropic;
//!
//! let key = pegboard::Secret::new(std::env::var("ANTHROPIC_API_KEY").unwrap_or_default());
//! let model = Anthropic::new("claude-sonnet-5", &key, None)?;
//! let run = pegboard.agent(model).ask("What is 17 km in miles?").await;
//! println!("{}\nused: {:?}", run.answer?, run.used);
//! # Ok(())
//! # }
//! ```
//!
//! **Look for yourself.** [`Pegboard::search`], [`Pegboard::describe`] and [`Pegboard::call`] do for a program what the
//! meta tools do for a model.
//!
//! ```no_run
//! # async fn tour(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
//! for tool in pegboard.search("convert a length", 3).await {
//!     println!("{}: {}", tool.name, tool.summary);
//! }
//! let outcome = pegboard.call("example/add_numbers", serde_json::json!({"a": 1, "b": 2})).await?;
//! println!("{}", outcome.result);
//! # Ok(())
//! # }
//! ```
//!
//! **Keep up.** [`Pegboard::refresh`] asks servers again and says what is different; [`Pegboard::subscribe`] tells
//! what happens meanwhile.
//!
//! ```no_run
//! # async fn tour(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
//! let mut events = pegboard.subscribe();
//! for outcome in pegboard.refresh(None, true).await? {
//!     match outcome.result {
//!         Ok(now) => println!("{}: {} new", outcome.server, now.delta.added.len()),
//!         Err(error) => println!("{}: {error}. {}", outcome.server, error.remedy),
//!     }
//! }
//! # let _ = events.recv().await;
//! # Ok(())
//! # }
//! ```
//!
//! **Close it.** [`Pegboard::close`] stops every server that was started; no process is left when it returns.
//!
//! # What to rely on
//!
//! - Errors are values: a [`ToolError`] has a class, a reason with a page of its own, a message free of secrets, and
//!   the next step. Nothing panics.
//! - A server that does not answer costs its own tools and nothing else; the agent goes on without them.
//! - Every call passes one policy gate. Give [`Options::approver`] to ask a person when a policy says `ask`.
//! - Enums and structs that may grow are `non_exhaustive`.

#[doc(hidden)]
pub mod cli;
mod embed;
#[doc(hidden)]
pub mod example_server;
mod gateway;
#[cfg_attr(not(feature = "meaning"), path = "no_meaning.rs")]
pub(crate) mod meaning;
mod metrics;
mod open;
mod overrides;
mod telemetry;
mod web;

pub use embed::{FoundTool, tool_use};
pub use gateway::profiles;
pub use open::{Configured, Options, Pegboard};

/// The agent loop, model providers, and the parts of both.
pub use pegboard_agent as agent;
pub use pegboard_catalog::{
    Catalog, ChangedTool, Delta, Description, ServerEntry, StaticTool, ToolView,
};
pub use pegboard_config::Environment;
pub use pegboard_formats::Format;
pub use pegboard_gateway::{Gateway, http, stdio};
pub use pegboard_hub::{
    ApprovalPrompt, Approver, CallOutcome, CallRequest, Hub, PendingDiscoveries, PromptResponse,
    RefreshOutcome, Refreshed, SessionId, ToolHandler,
};
pub use pegboard_model::{
    ErrorClass, Event, EventKind, Reason, Recorder, Secret, ServerName, SpanContext, ToolError,
    ToolResult,
};
pub use pegboard_trace::Redactor;
