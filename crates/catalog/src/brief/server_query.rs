//! Queries that name a server: `github`, `all github tools`.

use std::sync::Arc;

use crate::entry::ServerEntry;
use crate::snapshot::Catalog;
use crate::words::words;

/// Words that say no more than that tools of a server are wanted.
const ABOUT_TOOLS: &[&str] = &[
    "all",
    "and",
    "any",
    "available",
    "every",
    "everything",
    "for",
    "from",
    "give",
    "has",
    "have",
    "in",
    "list",
    "me",
    "of",
    "on",
    "server",
    "show",
    "the",
    "tool",
    "tools",
    "what",
    "which",
    "with",
];
/// Characters of a query that can name a server.
const QUERY_LENGTH: usize = 120;

/// The server that a query names, when it asks for nothing else.
pub(crate) fn named_server<'a>(catalog: &'a Catalog, query: &str) -> Option<&'a Arc<ServerEntry>> {
    let query = query.trim();
    if query.len() > QUERY_LENGTH {
        return None;
    }
    if let Some(entry) = find(catalog, query) {
        return Some(entry);
    }
    let mut found = words(query);
    let whole = find(catalog, &found.join("_"));
    whole.or_else(|| {
        found.retain(|word| !ABOUT_TOOLS.contains(&word.as_str()));
        find(catalog, &found.join("_"))
    })
}

fn find<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Arc<ServerEntry>> {
    let entry = catalog.server_named(&name.to_ascii_lowercase())?;
    entry.is_offered().then_some(entry)
}
