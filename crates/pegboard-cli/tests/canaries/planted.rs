//! What is planted, and where.

/// A planted value.
pub(crate) struct Canary {
    /// Where it is planted, in words.
    pub(crate) name: &'static str,
    /// Whether it may come out where the user asked for it.
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It may come out nowhere.
    Secret,
    /// What people and tools say: it may come out in the answer of the call itself, and in spans where that was
    /// asked for.
    Content,
}

use Kind::{Content, Secret};

const fn row(name: &'static str, kind: Kind) -> Canary {
    Canary { name, kind }
}

/// The forty, and some more.
pub(crate) const ALL: &[Canary] = &[
    row("variable of a server", Secret),
    row("variable of a server, from ${VAR}", Secret),
    row("variable of a server, from a default", Secret),
    row("variable of a server, from a kept secret", Secret),
    row("password within a variable that is an address", Secret),
    row("argument --token=${VAR}", Secret),
    row("argument after --api-key", Secret),
    row("argument from a kept secret", Secret),
    row("variable let through by env_allow", Secret),
    row("variable NAME_API_KEY of a program", Secret),
    row("variable that is nobody's business", Secret),
    row("token that a dying server tells", Secret),
    row("token that a server tells in its refusal", Secret),
    row("token that a server tells in the error of a call", Secret),
    row("token that a server tells as base64", Secret),
    row("token that a server tells percent-encoded", Secret),
    row("header", Secret),
    row("header with a scheme, from ${VAR}", Secret),
    row("header from a kept secret", Secret),
    row("bearer token", Secret),
    row("bearer token from ${VAR}", Secret),
    row("password in an address", Secret),
    row("query of an address", Secret),
    row("query of an address that is a variable", Secret),
    row("query of NAME_MCP_URL", Secret),
    row("variable NAME_API_KEY of an address", Secret),
    row("bearer token that a server repeats in its error", Secret),
    row("variable in a project's file", Secret),
    row("header in a project's file", Secret),
    row("public key of Langfuse", Secret),
    row("secret key of Langfuse", Secret),
    row(
        "header for a collector, from a variable of the standard",
        Secret,
    ),
    row("password in a collector's address", Secret),
    row("query of a collector's address", Secret),
    row("key of a model's provider", Secret),
    row("baggage of a client", Secret),
    row("token that a tool gives back in its result", Content),
    row("argument of a call", Content),
    row("argument of a call that fails", Content),
    row("argument of a call that waits for a person", Content),
    row("text of a result", Content),
    row("query of a search", Content),
];

/// The names of those that may be in spans where contents are recorded. What is known to be a secret may not, though
/// the answer of the call holds it.
pub(crate) const CONTENTS: &[&str] = &[
    "argument of a call",
    "argument of a call that fails",
    "argument of a call that waits for a person",
    "text of a result",
    "query of a search",
];

/// The value of the canary with this number.
pub(crate) fn value(number: usize) -> String {
    // Of different lengths, so that every remainder of three is there for base64.
    let tail = &"Kq7ZxW9pLm"[..7 + number % 3];
    format!("cnry{number:02}-{tail}")
}

/// The value of the canary with this name.
pub(crate) fn planted(name: &str) -> String {
    let number = ALL.iter().position(|canary| canary.name == name);
    value(number.unwrap_or_else(|| panic!("no canary `{name}`")))
}
