//! Finds Pegboard's own entry among a client's servers.

use super::text::{ClientText, Container};
use crate::client_files::is_pegboard;
use crate::node::Entry;

/// Whether a server of a client is Pegboard: a command or URL of it, or what `connect` has written.
pub(crate) fn is_own_entry(
    server: &Entry,
    port: Option<u16>,
    written: Option<&serde_json::Value>,
) -> bool {
    is_pegboard(server, port) || written.is_some_and(|written| server.node.to_json() == *written)
}

/// The servers of a file, divided into Pegboard's entries and the others.
pub(crate) fn divide(
    text: &ClientText,
    container: &Container,
    port: Option<u16>,
    written: Option<&serde_json::Value>,
) -> (Vec<Entry>, Vec<Entry>) {
    let servers = container.servers(&text.source).into_iter();
    servers.partition(|server| is_own_entry(server, port, written))
}
