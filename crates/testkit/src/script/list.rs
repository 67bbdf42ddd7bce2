//! A server's tools, and how it lists them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Malformed;

/// A server's tools, and how it lists them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListScript {
    /// Definitions, sent unchanged.
    pub tools: Vec<Value>,
    /// Number of further valid tools, named `made_0`, `made_1`, ….
    pub made: usize,
    /// Malformed tools.
    pub malformed: Vec<Malformed>,
    /// Tools per page; all on one page if absent.
    pub page_size: Option<usize>,
    /// The kind of cursors.
    pub cursors: Cursors,
    /// The page that fails with -32603, counted from 1.
    pub fail_page: Option<usize>,
    /// `ttlMs`, sent unchanged; absent if null.
    pub ttl_ms: Value,
    /// `cacheScope` of each page (the last one for all later pages); absent if empty.
    pub cache_scopes: Vec<Value>,
    /// A pause before each page.
    pub page_delay_ms: u64,
    /// Changes of later listings.
    pub mutations: Vec<MutationAt>,
    /// The value of `tools` instead of an array; ignored if null.
    pub tools_are: Value,
}

/// A change of the list from the n-th listing on, counted from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutationAt {
    /// The first listing with the change.
    pub listing: u32,
    /// The change.
    pub change: Mutation,
}

/// A change of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mutation {
    /// Adds a tool.
    Add(String),
    /// Removes a tool.
    Remove(String),
    /// Changes the description of a tool.
    Describe(String),
    /// Changes the schema of a tool.
    Reschema(String),
    /// Reverses the order of keys in all objects.
    Reorder,
}

/// Kinds of cursors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cursors {
    /// Valid cursors; the last page has none.
    #[default]
    Sound,
    /// A new one on every page, endlessly, each page with one new tool.
    Endless,
    /// A new one on every page, endlessly, on pages without tools.
    EndlessEmpty,
    /// The same one on every page.
    Repeated,
    /// An empty string for the second page; valid cursors afterwards.
    EmptyText,
    /// A number.
    Number,
    /// A string of this many bytes.
    Huge(usize),
}

impl ListScript {
    /// The list at the n-th listing, counted from 1.
    pub fn tools_at(&self, listing: u32) -> Vec<Value> {
        let mut tools = self.tools.clone();
        tools.extend((0..self.made).map(|number| crate::tool_json(&format!("made_{number}"))));
        let first = tools
            .first()
            .and_then(|tool| tool["name"].as_str())
            .unwrap_or("first")
            .to_owned();
        tools.extend(self.malformed.iter().map(|kind| kind.definition(&first)));
        for mutation in self
            .mutations
            .iter()
            .filter(|mutation| mutation.listing <= listing)
        {
            mutation.change.apply(&mut tools);
        }
        tools
    }
}

impl Mutation {
    fn apply(&self, tools: &mut Vec<Value>) {
        let set = |tools: &mut Vec<Value>, name: &str, key: &str, value: Value| {
            for tool in tools.iter_mut().filter(|tool| tool["name"] == name) {
                tool[key] = value.clone();
            }
        };
        match self {
            Self::Add(name) => tools.push(crate::tool_json(name)),
            Self::Remove(name) => tools.retain(|tool| tool["name"] != name.as_str()),
            Self::Describe(name) => set(
                tools,
                name,
                "description",
                json!("Does something else now."),
            ),
            Self::Reschema(name) => {
                let schema = json!({"type": "object", "required": ["path"],
                    "properties": {"path": {"type": "string"}}});
                set(tools, name, "inputSchema", schema);
            }
            Self::Reorder => tools.iter_mut().for_each(reverse_keys),
        }
    }
}

fn reverse_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            *fields = std::mem::take(fields).into_iter().rev().collect();
            fields.values_mut().for_each(reverse_keys);
        }
        Value::Array(items) => items.iter_mut().for_each(reverse_keys),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &ListScript, listing: u32) -> Vec<String> {
        let tools = list.tools_at(listing);
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap_or("?").to_owned())
            .collect()
    }

    #[test]
    fn a_list_changes_at_the_listing_it_says() {
        let at = |listing, change| MutationAt { listing, change };
        let list = ListScript {
            tools: vec![crate::tool_json("a"), crate::tool_json("b")],
            mutations: vec![
                at(2, Mutation::Add("c".into())),
                at(3, Mutation::Remove("a".into())),
            ],
            ..ListScript::default()
        };
        assert_eq!(names(&list, 1), ["a", "b"]);
        assert_eq!(names(&list, 2), ["a", "b", "c"]);
        assert_eq!(names(&list, 3), ["b", "c"]);
    }

    #[test]
    fn reordering_changes_the_bytes_only() {
        let at = MutationAt {
            listing: 2,
            change: Mutation::Reorder,
        };
        let list = ListScript {
            tools: vec![crate::tool_json("a")],
            mutations: vec![at],
            ..Default::default()
        };
        let (before, after) = (list.tools_at(1), list.tools_at(2));
        assert_ne!(before[0].to_string(), after[0].to_string());
        assert_eq!(before, after);
    }
}
