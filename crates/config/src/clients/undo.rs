//! The content of a client's file without what `connect` has written.

use super::entry::ENTRY_NAME;
use super::merge::undo_lines;
use super::own_entry::is_own_entry;
use super::record::{Connection, Connections, hash};
use super::rewrite::{self, Taken};
use super::target::Target;
use super::text::ClientText;
use crate::problem::Problem;

/// A content of the file, and how it came about.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    /// The content; `None` if the file is to be deleted.
    pub(crate) content: Option<Vec<u8>>,
    /// Whether it is the content before `connect`, byte for byte.
    pub(crate) is_exact: bool,
    /// Servers that are put back.
    pub(crate) put_back: Vec<String>,
    /// Servers that are not put back, because the file has another server of the same name now.
    pub(crate) kept: Vec<String>,
    /// Whether the file has an entry under Pegboard's name that is not Pegboard any more, and stays.
    pub(crate) has_other_entry: bool,
}

/// Determines the content without Pegboard's entry and with the servers that were taken out.
pub(crate) fn undo(
    target: &Target,
    connections: &Connections,
    connection: &Connection,
    current: Option<&[u8]>,
) -> Result<Undone, Problem> {
    let Some(bytes) = current else {
        // Someone has deleted the file; there is nothing to undo.
        return Ok(Undone::default());
    };
    let current_hash = hash(bytes);
    if Some(&current_hash) == connection.before.as_ref() {
        return Ok(exact(Some(bytes.to_vec()), Vec::new()));
    }
    let names = connection.taken_out.iter().map(|taken| taken.name.clone());
    let before = connections.backed_up(connection);
    if current_hash == connection.after {
        match (&connection.before, before) {
            (None, _) => return Ok(exact(None, Vec::new())),
            (Some(_), Some(before)) => {
                return Ok(exact(Some(before), names.collect()));
            }
            // Without the back-up, the record suffices.
            (Some(_), None) => {}
        }
    }
    let text = ClientText::parse(&target.path, bytes, target.file.format)?;
    let (mut undone, edited) = without_entry(target, connection, &text)?;
    let merged = connections
        .backed_up(connection)
        .and_then(|before| merge(target, connection, &before, &text));
    // Lines keep more of the original form, comments above all, if they lead to the same values.
    let is_same =
        |merged: &ClientText| rewrite::have_same_values(merged, &edited, &target.container);
    let best = match merged.filter(is_same) {
        Some(merged) if !undone.has_other_entry => merged,
        _ => edited,
    };
    undone.content = Some(best.bytes());
    Ok(undone)
}

fn exact(content: Option<Vec<u8>>, put_back: Vec<String>) -> Undone {
    Undone {
        content,
        is_exact: true,
        put_back,
        ..Undone::default()
    }
}

/// Removes the entry, puts servers back and removes tables that were created, each by its name.
fn without_entry(
    target: &Target,
    connection: &Connection,
    current: &ClientText,
) -> Result<(Undone, ClientText), Problem> {
    let container = &target.container;
    let mut undone = Undone::default();
    let mut text = current.with_text(current.source.text.clone())?;
    let servers = container.servers(&text.source);
    if let Some(server) = servers.iter().find(|server| server.key == ENTRY_NAME) {
        match is_own_entry(server, None, Some(&connection.entry)) {
            true => text = rewrite::take_out(&text, container, ENTRY_NAME)?.0,
            false => undone.has_other_entry = true,
        }
    }
    // In reverse, because the place of each server refers to those that were there when it was taken out. A server
    // whose text does not fit any more is added at the end, for which the order must be that of the file.
    let taken = connection.taken_out.iter();
    let mut restored = with_servers(target, &text, taken.clone().rev(), &mut undone)?;
    undone.put_back.reverse();
    undone.kept.reverse();
    if !is_in_order(target, connection, &restored) {
        let forward = with_servers(target, &text, taken, &mut Undone::default());
        if let Ok(forward) = forward
            && is_in_order(target, connection, &forward)
        {
            restored = forward;
        }
    }
    let text = rewrite::remove_empty_container(restored, container, connection.created_keys)?;
    Ok((undone, text))
}

/// Whether the servers that were taken out are in the order of the record.
fn is_in_order(target: &Target, connection: &Connection, text: &ClientText) -> bool {
    let servers = target.container.servers(&text.source);
    let recorded = connection
        .taken_out
        .iter()
        .filter(|taken| !taken.is_replaced);
    recorded
        .filter_map(|taken| servers.iter().position(|server| server.key == taken.name))
        .is_sorted()
}

/// Puts servers back that the text does not have.
fn with_servers<'a>(
    target: &Target,
    current: &ClientText,
    servers: impl Iterator<Item = &'a Taken>,
    undone: &mut Undone,
) -> Result<ClientText, Problem> {
    let container = &target.container;
    let mut text = current.with_text(current.source.text.clone())?;
    for taken in servers {
        let servers = container.servers(&text.source);
        let existing = servers.iter().find(|server| server.key == taken.name);
        match existing.map(|server| server.node.to_json()) {
            None => {
                text = rewrite::put_back(&text, container, taken)?;
                undone.put_back.push(taken.name.clone());
            }
            Some(value) if value == taken.value => {}
            Some(_) => undone.kept.push(taken.name.clone()),
        }
    }
    Ok(text)
}

/// Takes the lines of the change back.
fn merge(
    target: &Target,
    connection: &Connection,
    before: &[u8],
    current: &ClientText,
) -> Option<ClientText> {
    let before = ClientText::parse(&target.path, before, target.file.format).ok()?;
    let after = redone(target, connection, &before)?;
    let text = undo_lines(
        &before.source.text,
        &after.source.text,
        &current.source.text,
    )?;
    current.with_text(text).ok()
}

/// The content that `connect` has written, made again from the content before it.
fn redone(target: &Target, connection: &Connection, before: &ClientText) -> Option<ClientText> {
    let container = &target.container;
    let mut text = before.with_text(before.source.text.clone()).ok()?;
    let taken_out = connection.taken_out.iter();
    for taken in taken_out.clone().filter(|taken| taken.is_replaced) {
        text = rewrite::take_out(&text, container, &taken.name).ok()?.0;
    }
    text = rewrite::insert(&text, container, ENTRY_NAME, &connection.entry).ok()?;
    for taken in taken_out.filter(|taken| !taken.is_replaced) {
        text = rewrite::take_out(&text, container, &taken.name).ok()?.0;
    }
    (hash(&text.bytes()) == connection.after).then_some(text)
}
