//! The meta tools: definitions and arguments. The gateway and the agent offer the same definitions and parse
//! arguments with the same tolerance.

mod args;
mod definitions;

pub use args::{
    CallToolArgs, DescribeToolsArgs, ListToolsArgs, SearchToolsArgs, invalid_args, parse_args,
};
pub use definitions::{
    CALL, CALL_READ_ONLY, DESCRIBE, DIRECT_INSTRUCTIONS, INSTRUCTIONS, LIST, LISTED_TOOLS_HINT,
    MAX_BATCH, READ_RESULT, SEARCH, definitions, is_call_tool, is_meta_tool,
};
