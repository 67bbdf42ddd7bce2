//! What changed between two lists of a server's tools.

use std::collections::BTreeMap;

use pegboard_model::Tool;
use serde::{Deserialize, Serialize};

use crate::difference::changed_fields;

/// The difference between two lists; names are the server's own, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delta {
    /// Tools that are new.
    pub added: Vec<String>,
    /// Tools that are gone.
    pub removed: Vec<String>,
    /// Tools whose definition is another.
    pub changed: Vec<ChangedTool>,
    /// How many stayed as they were.
    pub unchanged: usize,
}

/// A tool whose definition is another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedTool {
    /// The server's own name for it.
    pub name: String,
    /// What differs: `description`, `annotations.readOnlyHint`, `inputSchema.properties.owner`.
    pub fields: Vec<String>,
}

impl Delta {
    /// Compares two lists. Key order and white space in a definition are no difference.
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

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}
