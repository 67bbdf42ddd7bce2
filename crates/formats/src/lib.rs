//! Conversion of tool definitions to the formats of model providers.
//!
//! A server's schema may be any JSON Schema of any draft. A provider accepts only a subset of one draft and rejects the
//! whole request if a single tool violates it. [`convert`] converts one tool for one provider and reports the losses;
//! [`definitions`] creates the value of a request's `tools` field.
//!
//! The model's arguments follow the converted definition. [`ConvertedTool::restore`] maps them back to the server's own
//! schema: renamed arguments get their original names, and a `null` that means "omitted" is removed. The caller keeps
//! the original schema and validates the arguments with it.
//!
//! Invariant: no async, no files, no network, no processes, no clock.
//! Invariant: the same source gives the same bytes, and keys keep the order of the source.
//! Invariant: nothing panics, and work and output are bounded for any schema.
//! Invariant: every difference in meaning is reported as a [`Loss`] with a stable code.

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
