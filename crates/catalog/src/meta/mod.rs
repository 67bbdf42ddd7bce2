//! The few tools that stand for all others: what they are called, what they take, and what a model meant.
//!
//! Whoever offers them, the gateway to its clients or the agent to its model, offers the same bytes and reads the
//! same mistakes.

mod definitions;
mod wish;

pub use definitions::{
    AT_ONCE, CALL, CALL_READ_ONLY, DESCRIBE, DIRECT_INSTRUCTIONS, INSTRUCTIONS, LIST, LISTED_TOO,
    READ_RESULT, SEARCH, definitions, is_call, is_meta_tool,
};
pub use wish::{CallWish, DescribeWish, ListWish, SearchWish, misread, wish};
