//! The few tools that stand for all others: what they are called, what they take, and what a model meant.
//!
//! Whoever offers them, the gateway to its clients or the agent to its model, offers the same bytes and reads the
//! same mistakes.

mod args;
mod definitions;

pub use args::{
    CallToolArgs, DescribeToolsArgs, ListToolsArgs, SearchToolsArgs, invalid_args, parse_args,
};
pub use definitions::{
    CALL, CALL_READ_ONLY, DESCRIBE, DIRECT_INSTRUCTIONS, INSTRUCTIONS, LIST, LISTED_TOOLS_HINT,
    MAX_BATCH, READ_RESULT, SEARCH, definitions, is_call_tool, is_meta_tool,
};
