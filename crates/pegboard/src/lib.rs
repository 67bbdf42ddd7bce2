//! Every tool of every MCP server, known without starting any.
//!
//! Pegboard sits between an agent and MCP servers. It stores a catalog of all tools, finds the right one, and starts
//! only the server that is called. This crate is the library for embedding it in a program; the command `pegboard` is
//! the package `pegboard-cli`.
//!
//! # A tour
//!
//! **Open it.** [`Pegboard::builder`] reads the same configuration as the command and the stored catalog. It starts no
//! server, so it takes milliseconds. Servers can also be added in code.
//!
//! ```no_run
//! # async fn tour() -> pegboard::ToolResult<()> {
//! use pegboard::{Pegboard, Server};
//!
//! let pegboard = Pegboard::builder()
//!     .server(Server::stdio("time", "uvx").arg("mcp-server-time"))
//!     .server(Server::http("docs", "https://example.com/mcp"))
//!     .open()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! **Add your own tools.** [`Pegboard::register_typed`] registers a function beside the servers' tools; the schema of
//! its arguments is derived from their type. [`Pegboard::register`] takes a schema written by hand.
//!
#![cfg_attr(feature = "typed-tools", doc = "```")]
#![cfg_attr(not(feature = "typed-tools"), doc = "```ignore")]
//! # async fn tour(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
//! use pegboard::schemars::JsonSchema;
//!
//! #[derive(serde::Deserialize, JsonSchema)]
//! #[schemars(crate = "pegboard::schemars")]
//! struct Weather {
//!     /// The name of the city.
//!     city: String,
//! }
//!
//! pegboard.register_typed("weather", "Returns the weather of a city.", |args: Weather| async move {
//!     Ok(serde_json::json!({"city": args.city, "sky": "blue"}))
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! **Give the tools to a model.** With a model client of your own, you need three things: the definitions, the summary
//! for the system prompt, and a runner for the calls (feature `agent`).
//!
#![cfg_attr(feature = "agent", doc = "```no_run")]
#![cfg_attr(not(feature = "agent"), doc = "```ignore")]
//! # async fn tour(pegboard: &pegboard::Pegboard, call: pegboard::agent::ToolUse) {
//! let tools = pegboard.definitions(pegboard::agent::Format::Anthropic).await; // request["tools"] = tools.document()
//! let system = pegboard.context_summary(); // request["system"]
//! let result = pegboard.run_tool_use(&tools, &call).await; // for each call of the model
//! # }
//! ```
//!
//! `Pegboard::definitions` offers a few meta tools that find, list, describe and call all others.
//! `Pegboard::definitions_with` can also offer all definitions, or use the provider's own tool search.
//! `Pegboard::run_tool_use` never fails: errors are results that the model can read.
//!
//! **Or use the agent loop.** `Pegboard::agent` returns a loop that asks Anthropic, OpenAI or your own
//! `agent::Provider`, streams the answer, runs calls concurrently, and stays within an `agent::Budget`.
//!
#![cfg_attr(feature = "agent", doc = "```no_run")]
#![cfg_attr(not(feature = "agent"), doc = "```ignore")]
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
//! **Search and call.** [`Pegboard::search`], [`Pegboard::describe`] and [`Pegboard::call`] do for a program what the
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
//! **Refresh.** [`Pegboard::refresh`] discovers tools again and returns what changed; [`Pegboard::subscribe`] returns
//! a stream of events.
//!
//! ```no_run
//! # async fn tour(pegboard: &pegboard::Pegboard) -> pegboard::ToolResult<()> {
//! use pegboard::Refresh;
//!
//! let mut events = pegboard.subscribe();
//! for outcome in pegboard.refresh(Refresh::all().force()).await? {
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
//! **Close it.** [`Pegboard::close`] stops every started server; no child process is left when it returns.
//!
//! # Guarantees
//!
//! - Errors are values: a [`ToolError`] has a class, a reason with a documentation page, a message without secrets, and
//!   the next step. Nothing panics.
//! - A failing server loses only its own tools.
//! - Every call passes one policy gate. Set [`Builder::approver`] to ask a person when a policy says `ask`.
//! - Errors, reasons, events and the library's own structs are `non_exhaustive`.
//!
//! # Features
//!
//! | feature | default | content |
//! |---|---|---|
//! | `agent` | yes | model definitions, tool runner, agent loop |
//! | `meaning` | yes | search by meaning with an embedded sentence encoder (23 MB) |
//! | `otlp` | yes | export of traces over OTLP, Prometheus metrics, redaction of logs |
//! | `typed-tools` | yes | tools with argument schemas derived by `schemars` |
//! | `gateway` | no | Pegboard as an MCP server over stdio and Streamable HTTP |
//! | `dashboard` | no | the HTTP API and the dashboard; includes `gateway` |
//! | `keyring` | no | secrets in the system keychain |

mod builder;
mod configuration;
#[cfg(feature = "dashboard")]
pub mod dashboard;
#[cfg(feature = "gateway")]
mod gateway;
mod logins;
#[cfg_attr(not(feature = "meaning"), path = "no_meaning.rs")]
mod meaning;
#[cfg(all(feature = "gateway", feature = "otlp"))]
mod metrics;
#[cfg(feature = "agent")]
mod model_tools;
mod pegboard;
mod server;
#[cfg_attr(not(feature = "otlp"), path = "no_telemetry.rs")]
mod telemetry;
mod tools;

pub use builder::Builder;
pub use configuration::Configuration;
pub use pegboard::Pegboard;
pub use server::Server;
pub use tools::{FoundTool, Refresh};

/// The agent loop, model providers, and the parts of both.
#[cfg(feature = "agent")]
pub mod agent {
    pub use pegboard_agent::*;
    pub use pegboard_formats::Format;

    pub use crate::model_tools::tool_use;
}

/// Pegboard as an MCP server: [`mcp::http`](pegboard_gateway::http) and [`mcp::stdio`](pegboard_gateway::stdio).
#[cfg(feature = "gateway")]
pub mod mcp {
    pub use pegboard_gateway::*;

    pub use crate::gateway::profiles;
}

// The crates behind the library, for every type of a public signature.
pub use pegboard_catalog as catalog;
pub use pegboard_config as config;
pub use pegboard_hub as hub;
pub use pegboard_model as model;
pub use pegboard_store as store;
#[cfg(feature = "otlp")]
pub use pegboard_trace as trace;
#[cfg(feature = "typed-tools")]
pub use schemars;

// The types that most programs use.
pub use pegboard_catalog::{
    Catalog, ChangedTool, Delta, Description, ServerEntry, StaticTool, ToolView,
};
pub use pegboard_config::Environment;
pub use pegboard_hub::{
    ApprovalPrompt, Approver, CallOutcome, CallRequest, Hub, PendingDiscoveries, PromptResponse,
    RefreshOutcome, Refreshed, SessionId, ToolHandler,
};
pub use pegboard_model::{
    ErrorClass, ErrorDetails, Event, EventKind, Reason, Recorder, Secret, ServerName, ServerSpec,
    SpanContext, ToolError, ToolResult,
};
#[cfg(feature = "otlp")]
pub use pegboard_trace::Redactor;
