//! The planted values.

/// A planted value.
pub(crate) struct Canary {
    /// Where it is planted.
    pub(crate) name: &'static str,
    /// Whether it may appear where the user asked for it.
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It may appear nowhere.
    Secret,
    /// Contents: may appear in the result of the call itself, and in spans if capturing contents is
    /// enabled.
    Content,
}

use Kind::{Content, Secret};

const fn row(name: &'static str, kind: Kind) -> Canary {
    Canary { name, kind }
}

/// The forty canaries and some more.
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
    row("variable that is not allowed", Secret),
    row("token that an exiting server prints", Secret),
    row("token in the rejection of a handshake", Secret),
    row("token in the error of a call", Secret),
    row("token printed as base64", Secret),
    row("token printed percent-encoded", Secret),
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

/// The canaries that may be in spans if contents are captured. Known secrets may not, even if the result of the call
/// contains them.
pub(crate) const CONTENTS: &[&str] = &[
    "argument of a call",
    "argument of a call that fails",
    "argument of a call that waits for a person",
    "text of a result",
    "query of a search",
];

/// Returns the value of a canary by number.
pub(crate) fn value(number: usize) -> String {
    // Different lengths cover every alignment of base64.
    let tail = &"Kq7ZxW9pLm"[..7 + number % 3];
    format!("cnry{number:02}-{tail}")
}

/// Returns the value of a canary by name.
pub(crate) fn planted(name: &str) -> String {
    let number = ALL.iter().position(|canary| canary.name == name);
    value(number.unwrap_or_else(|| panic!("no canary `{name}`")))
}
