//! The difference between two tool lists of a server.

use std::collections::BTreeMap;

use pegboard_model::Tool;
use serde::{Deserialize, Serialize};

use crate::difference::changed_fields;

/// The difference between two lists. Names are those on the server, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// New tools.
    pub added: Vec<String>,
    /// Removed tools.
    pub removed: Vec<String>,
    /// Tools whose definition changed.
    pub changed: Vec<ChangedTool>,
    /// Number of unchanged tools.
    pub unchanged: usize,
}

/// A tool whose definition changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedTool {
    /// The tool's name on its server.
    pub name: String,
    /// The changed fields, for example `annotations.readOnlyHint` or `inputSchema.properties.owner`.
    pub fields: Vec<String>,
}

impl Delta {
    /// Compares two lists. Key order and white space in a definition do not matter.
    pub fn between(old: &[Tool], new: &[Tool]) -> Self {
        let before: BTreeMap<&str, &Tool> =
            old.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let after: BTreeMap<&str, &Tool> =
            new.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let mut delta = Self::default();
        for (name, tool) in &after {
            match before.get(name) {
                None => delta.added.push((*name).to_owned()),
                Some(former) if former.fingerprint == tool.fingerprint => delta.unchanged += 1,
                Some(former) => {
                    let fields = changed_fields(&former.definition, &tool.definition);
                    delta.changed.push(ChangedTool {
                        name: (*name).to_owned(),
                        fields,
                    });
                }
            }
        }
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        delta.removed = gone.map(|name| (*name).to_owned()).collect();
        delta
    }

    /// Returns whether no tool was added, removed or changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}
