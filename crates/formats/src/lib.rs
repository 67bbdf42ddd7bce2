//! Tool definitions as each model provider accepts them.
//!
//! A server's schema may be any JSON Schema of any draft; a provider takes a subset of one, and refuses the
//! whole request when a single tool is outside of it. [`convert`] makes one tool acceptable to one provider
//! and says what that cost; [`definitions`] makes the value of a request's `tools` field.
//!
//! What the model sends back is in terms of the converted definition. [`ConvertedTool::restore`] turns it into
//! what the server's own schema describes: renamed arguments get their names back, and a `null` that stands
//! for "left out" goes. The original schema stays with the caller, who checks the arguments with it.
//!
//! Invariant: no async, no files, no network, no processes, no clock.
//! Invariant: the same source gives the same bytes, and keys keep the order of the source.
//! Invariant: nothing here panics, and work and output are bounded, whatever the schema is.
//! Invariant: every difference in meaning is a [`Loss`], each with a kind that has a stable code.

mod alias;
mod client_search;
mod context;
mod convert;
mod description_text;
mod format;
mod keywords;
mod limits;
mod loss;
mod passes;
mod pattern;
mod providers;
mod render;
mod restore;
mod source;

pub use client_search::{
    SEARCH_TOOL_NAME, anthropic_search_result, anthropic_search_tool, openai_search_result,
    openai_search_tool,
};
pub use convert::{ConvertedTool, convert, convert_with};
pub use format::{Format, UnknownFormat};
pub use loss::{Effect, Loss, LossKind};
pub use render::{RenderedTools, ToolLosses, definitions, definitions_with};
pub use restore::Restore;
pub use source::{ConvertOptions, DeferredSearch, SourceTool};
