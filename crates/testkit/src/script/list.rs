//! A server's tools, and how it lists them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Malformed;

/// A server's tools, and how it lists them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListScript {
    /// Definitions, sent as they are.
    pub tools: Vec<Value>,
    /// So many sound tools more, called `made_0`, `made_1`, ….
    pub made: usize,
    /// Tools with a flaw.
    pub malformed: Vec<Malformed>,
    /// Tools per page; all on one page when absent.
    pub page_size: Option<usize>,
    /// What the cursors look like.
    pub cursors: Cursors,
    /// The page that fails with -32603, from 1.
    pub fail_page: Option<usize>,
    /// `ttlMs`, sent as it is; absent when null.
    pub ttl_ms: Value,
    /// `cacheScope`, page by page (the last one for all later pages); absent when empty.
    pub cache_scopes: Vec<Value>,
    /// A pause before each page.
    pub page_delay_ms: u64,
    /// What changes from which listing on.
    pub mutations: Vec<MutationAt>,
    /// `tools` is this in place of an array; ignored when null.
    pub tools_are: Value,
}

/// A change of the list that holds from the n-th listing on, from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutationAt {
    /// From which listing on.
    pub listing: u32,
    /// The change.
    pub change: Mutation,
}

/// A change of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mutation {
    /// This tool is new.
    Add(String),
    /// This tool is gone.
    Remove(String),
    /// This tool has another description.
    Describe(String),
    /// This tool has another schema.
    Reschema(String),
    /// All objects have their keys in the reverse order.
    Reorder,
}

/// What the cursors of a list look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cursors {
    /// Sound ones; the last page has none.
    #[default]
    Sound,
    /// A new one on every page, for ever, each page with one new tool.
    Endless,
    /// A new one on every page, for ever, on pages without tools.
    EndlessEmpty,
    /// The same one on every page.
    Repeated,
    /// The second page is behind an empty text; the third behind a sound cursor.
    EmptyText,
    /// A number.
    Number,
    /// A text of so many bytes.
    Huge(usize),
}

impl ListScript {
    /// The list as it is at the n-th listing, from 1.
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
