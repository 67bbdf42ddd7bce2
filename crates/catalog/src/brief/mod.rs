//! The texts that models read. They are short whatever the size of the catalog, and equal for equal catalogs.

mod chosen;
mod context;
mod cost;
mod describe;
mod describe_json;
mod instructions;
mod list;
mod list_json;
mod parameter_lines;
mod prose;
mod search;
mod sheet;
mod signature;
mod status;

pub use context::{ESSENTIAL_PATTERNS, context_summary};
pub use describe::describe_text;
pub use describe_json::describe_json;
pub use list::{ListRequest, list_text};
pub use list_json::list_json;
pub use search::{Detail, MAX_HITS, MAX_QUERIES, search_text};
