//! Edits as steps, independent of the file's format.

use pegboard_model::{Reason, ServerName, UntrustedText};
use serde_json::Value;

use crate::client_files::is_client_file;
use crate::name::{NameCheck, check_name};
use crate::node::{Entry, Node};
use crate::problem::Problem;
use crate::text::SourceText;

/// The location of an entry, by its keys as written.
#[derive(Clone, Debug)]
pub(super) struct EntryLocation {
    /// `servers`, `mcpServers`, or another root table.
    pub(super) root: String,
    /// The server's name as written in the file.
    pub(super) key: String,
}

/// One change to a file.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Replaces all fields of a server.
    Put {
        location: EntryLocation,
        fields: Vec<(String, Value)>,
    },
    Remove {
        location: EntryLocation,
    },
    /// Sets or removes one value of a server.
    Set {
        location: EntryLocation,
        path: Vec<String>,
        value: Option<Value>,
    },
    /// Sets or removes one value of a root table. The location's key is the key in that table.
    Entry {
        location: EntryLocation,
        value: Option<Value>,
    },
}

impl Step {
    pub(super) fn location(&self) -> &EntryLocation {
        match self {
            Self::Put { location, .. }
            | Self::Remove { location }
            | Self::Set { location, .. }
            | Self::Entry { location, .. } => location,
        }
    }
}

impl EntryLocation {
    /// Returns the location for a new server: in the existing table, or in `servers`.
    pub(super) fn new_in(source: &SourceText, name: &ServerName) -> Self {
        let has = |root: &str| source.tree().is_some_and(|tree| tree.get(root).is_some());
        let foreign = source
            .path
            .file_name()
            .is_some_and(|name| name == ".mcp.json");
        let root = if !has("servers") && (has("mcpServers") || foreign) {
            "mcpServers"
        } else {
            "servers"
        };
        Self {
            root: root.to_owned(),
            key: name.to_string(),
        }
    }

    pub(super) fn entry<'s>(&self, source: &'s SourceText) -> Option<&'s Entry> {
        source.tree()?.get(&self.root)?.node.get(&self.key)
    }

    pub(super) fn node<'s>(&self, source: &'s SourceText) -> Option<&'s Node> {
        self.entry(source).map(|entry| &entry.node)
    }

    pub(super) fn key_start(&self, source: &SourceText) -> usize {
        self.entry(source).map_or(0, |entry| entry.key_start)
    }
}

/// Finds a server by name. A duplicate server is an error.
pub(super) fn find_server(
    source: &SourceText,
    name: &ServerName,
) -> Result<Option<EntryLocation>, Problem> {
    let mut found: Vec<(EntryLocation, usize)> = Vec::new();
    for root in source.tree().map(Node::entries).unwrap_or_default() {
        let lenient = match root.key.as_str() {
            "servers" => is_client_file(source),
            "mcpServers" => true,
            _ => continue,
        };
        for entry in root.node.entries() {
            let matches = match check_name(&entry.key, lenient) {
                NameCheck::Valid(found) | NameCheck::Corrected(found) => found == *name,
                NameCheck::Invalid { .. } => false,
            };
            if matches {
                found.push((
                    EntryLocation {
                        root: root.key.clone(),
                        key: entry.key.clone(),
                    },
                    entry.key_start,
                ));
            }
        }
    }
    if let [(_, first), (location, second), ..] = found.as_slice() {
        let key = UntrustedText::new(&location.key).shortened(60).to_string();
        let (one, two) = (source.line_of(*first), source.line_of(*second));
        let message = format!("`{key}` is defined twice, on line {one} and on line {two}");
        let help = "remove one of them by hand first";
        return Err(Problem::error(Reason::ConfigDuplicate, message)
            .help(help)
            .at(source, *second));
    }
    Ok(found.into_iter().next().map(|(location, _)| location))
}
