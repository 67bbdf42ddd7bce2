//! What is to be changed, and where.

use pegboard_model::{Reason, ServerName, UntrustedText};
use serde_json::Value;

use crate::client_files::is_client_file;
use crate::name::{NameCheck, check_name};
use crate::node::{Entry, Node};
use crate::problem::Problem;
use crate::text::SourceText;

/// A server's place in a file, by the words that stand there.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// `servers` or `mcpServers`, or another table at the top.
    pub(super) root: String,
    /// The server's name as the file has it.
    pub(super) key: String,
}

/// One change.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The server has exactly these fields.
    Put {
        place: Place,
        fields: Vec<(String, Value)>,
    },
    /// The server is gone.
    Remove { place: Place },
    /// One value of the server is set, or gone.
    Set {
        place: Place,
        path: Vec<String>,
        value: Option<Value>,
    },
    /// One value of a table at the top of the file is set, or gone; the place's key is its key there.
    Entry { place: Place, value: Option<Value> },
}

impl Step {
    pub(super) fn place(&self) -> &Place {
        match self {
            Self::Put { place, .. }
            | Self::Remove { place }
            | Self::Set { place, .. }
            | Self::Entry { place, .. } => place,
        }
    }
}

impl Place {
    /// Where a new server goes: into the table that is there, else into `servers`.
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

/// The server with a name; a problem when it stands there twice.
pub(super) fn find_server(
    source: &SourceText,
    name: &ServerName,
) -> Result<Option<Place>, Problem> {
    let mut found: Vec<(Place, usize)> = Vec::new();
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
                    Place {
                        root: root.key.clone(),
                        key: entry.key.clone(),
                    },
                    entry.key_start,
                ));
            }
        }
    }
    if let [(_, first), (place, second), ..] = found.as_slice() {
        let key = UntrustedText::new(&place.key).shortened(60).to_string();
        let (one, two) = (source.line_of(*first), source.line_of(*second));
        let message = format!("`{key}` stands twice, on line {one} and on line {two}");
        let help = "remove one of them by hand first";
        return Err(Problem::error(Reason::ConfigDuplicate, message)
            .help(help)
            .at(source, *second));
    }
    Ok(found.into_iter().next().map(|(place, _)| place))
}
