//! Queries that name a server: `github`, `all github tools`.

use crate::index::Index;
use crate::tokens::{TokenKind, each_word, folded};

/// Words that only express that the tools of a server are wanted.
const ABOUT_TOOLS: &[&str] = &[
    "a",
    "all",
    "and",
    "any",
    "are",
    "available",
    "by",
    "can",
    "capabilities",
    "commands",
    "do",
    "does",
    "every",
    "everything",
    "for",
    "from",
    "functions",
    "give",
    "has",
    "have",
    "i",
    "in",
    "is",
    "list",
    "mcp",
    "me",
    "of",
    "on",
    "please",
    "server",
    "show",
    "the",
    "tool",
    "tools",
    "use",
    "what",
    "which",
    "with",
];
/// Maximum bytes of a query that can name a server.
const LONGEST: usize = 120;

/// The server that a query names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedServer {
    pub(crate) segment: usize,
    /// Whether the query explicitly asks for its tools; otherwise it may be about something else.
    pub(crate) only: bool,
}

pub(crate) fn named_server(index: &Index, request: &str, whole: &str) -> Option<NamedServer> {
    if request.len() > LONGEST || whole.is_empty() {
        return None;
    }
    if let Some(segment) = index.server_named(whole) {
        return Some(NamedServer {
            segment,
            only: false,
        });
    }
    let mut words: Vec<String> = Vec::new();
    each_word(request, LONGEST, |word, part| {
        if part != TokenKind::Joined && !ABOUT_TOOLS.contains(&word) {
            words.push(word.to_owned());
        }
    });
    // The name may be repeated: `okppt: all tools of the okppt server`.
    let (one, other) = words.split_at(words.len() / 2);
    let name = if one == other { one } else { &words };
    let segment = index.server_named(&folded(&name.concat(), LONGEST))?;
    Some(NamedServer {
        segment,
        only: true,
    })
}
