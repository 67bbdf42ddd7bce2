//! The texts that models read. They are short whatever the size of the catalog, and equal for equal catalogs.

mod budgeted_text;
mod context;
mod describe;
mod describe_json;
mod instructions;
mod list;
mod list_json;
mod parameter_lines;
mod search;
mod selection;
mod signature;
mod status;
mod token_cost;
mod wording;

pub use context::{ESSENTIAL_PATTERNS, context_summary};
pub use describe::describe_text;
pub use describe_json::describe_json;
pub use list::{ListRequest, list_text};
pub use list_json::list_json;
pub use search::{Detail, MAX_HITS, search_text};
