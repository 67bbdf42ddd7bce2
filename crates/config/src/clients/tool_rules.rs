//! Lists of tools in clients' files as policies.
//!
//! A list of available tools disables everything else. The listed tools are enabled by name, which overrides the
//! pattern but approves nothing: a destructive tool still asks. Lists of tools that run without asking are only
//! proposed, because a file must not approve calls.

use pegboard_model::Policy;

use super::table::{Client, FileList};
use crate::node::{Node, Value};
use crate::problem::shown_text;

/// Maximum number of tools in all lists of a server.
const MAX_TOOLS: usize = 500;

/// The rules for the tools of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ToolRules {
    /// Policies by name or pattern.
    pub(super) policies: Vec<(String, Policy)>,
    /// Tools that stay available although a pattern disables them.
    pub(super) available: Vec<String>,
    /// What the client runs without asking: the key in its file, and the tool or `*`.
    pub(super) approved: Vec<(String, String)>,
    pub(super) notes: Vec<String>,
}

impl ToolRules {
    /// Reads the lists in a server's entry.
    pub(super) fn of_entry(client: &Client, entry: &Node) -> Self {
        let lists = &client.tool_lists;
        let read = |keys: &[&str]| keys.iter().find_map(|key| names(&entry.get(key)?.node));
        let mut rules = Self::default();
        rules.deny(read(lists.deny).unwrap_or_default());
        if let Some(allowed) = read(lists.allow) {
            let is_all = allowed.is_empty() && lists.is_empty_all;
            if !is_all {
                rules.allow_only(allowed);
            }
        }
        for key in lists.approve {
            let Some(found) = entry.get(key) else {
                continue;
            };
            let tools = match &found.node.value {
                Value::Bool(true) => vec!["*".to_owned()],
                Value::Text(text) if text == "approve" => vec!["*".to_owned()],
                _ => names(&found.node).unwrap_or_default(),
            };
            rules.approve(key, tools);
        }
        rules.of_single_tools(entry);
        rules
    }

    /// Codex has settings of single tools: `tools.NAME.approval_mode`.
    fn of_single_tools(&mut self, entry: &Node) {
        let tools = entry.get("tools").map(|tools| tools.node.entries());
        for tool in tools.unwrap_or_default() {
            let mode = tool.node.get("approval_mode");
            if mode.and_then(|mode| mode.node.text()) == Some("approve") {
                self.approve("tools", vec![tool.key.clone()]);
            }
        }
    }

    /// Adds the lists outside of the entries that concern a server. Returns whether the client uses the server.
    pub(super) fn add_file_lists(&mut self, client: &Client, server: &str, tree: &Node) -> bool {
        let mut is_used = true;
        for list in client.file_lists {
            match list {
                FileList::Switches(key) => self.switches(key, server, tree),
                FileList::Available(key) => {
                    let tools = qualified(key, server, tree);
                    // A list without this server leaves none of its tools, but the file may be one of several.
                    if !tools.is_empty() {
                        self.allow_only(tools);
                    }
                }
                FileList::Approved(key) => self.approve(key, qualified(key, server, tree)),
                FileList::OnlyServers(path) => {
                    let names = path_names(path, tree);
                    is_used &= names.is_none_or(|names| names.iter().any(|name| name == server));
                }
                FileList::UnusedServers(path) => {
                    let names = path_names(path, tree).unwrap_or_default();
                    is_used &= !names.iter().any(|name| name == server);
                }
            }
        }
        is_used
    }

    /// opencode writes tools as `SERVER_TOOL`.
    fn switches(&mut self, key: &str, server: &str, tree: &Node) {
        let switches = tree.get(key).map(|table| table.node.entries());
        let prefix = format!("{server}_");
        for switch in switches.unwrap_or_default() {
            let Some(tool) = switch
                .key
                .strip_prefix(&prefix)
                .filter(|tool| !tool.is_empty())
            else {
                continue;
            };
            match switch.node.value {
                Value::Bool(false) => self.deny(vec![tool.to_owned()]),
                Value::Bool(true) if !is_pattern(tool) => self.available.push(tool.to_owned()),
                _ => {}
            }
        }
    }

    fn deny(&mut self, tools: Vec<String>) {
        for tool in self.usable(tools) {
            self.policies.push((tool, Policy::Disable));
        }
    }

    fn allow_only(&mut self, tools: Vec<String>) {
        if tools.iter().any(|tool| tool == "*") {
            return;
        }
        let denied = self.policies.clone();
        self.policies.push(("*".to_owned(), Policy::Disable));
        for tool in self.usable(tools) {
            if denied.iter().any(|(name, _)| *name == tool) {
                continue;
            }
            if is_pattern(&tool) {
                // Only `allow` and `ask` reopen what `*` disables, and a list approves nothing.
                self.notes.push(format!(
                    "tools that match `{}` ask before each call, because a pattern in a list approves nothing",
                    shown_text(&tool, 60)
                ));
                self.policies.push((tool, Policy::Ask));
            } else {
                self.available.push(tool);
            }
        }
    }

    fn approve(&mut self, key: &str, tools: Vec<String>) {
        for tool in self.usable(tools) {
            self.approved.push((key.to_owned(), tool));
        }
    }

    /// Leaves out names that a policy cannot have.
    fn usable(&mut self, mut tools: Vec<String>) -> Vec<String> {
        if tools.len() > MAX_TOOLS {
            self.notes.push(format!(
                "only the first {MAX_TOOLS} tools of a list are used"
            ));
            tools.truncate(MAX_TOOLS);
        }
        let is_usable = |tool: &String| {
            !tool.is_empty() && !tool.starts_with('@') && !tool.contains(char::is_control)
        };
        let (usable, other): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_usable);
        for tool in other {
            let tool = shown_text(&tool, 60).into_owned();
            self.notes
                .push(format!("`{tool}` in a list of tools is not a valid name"));
        }
        usable
    }
}

fn is_pattern(tool: &str) -> bool {
    tool.contains(['*', '?'])
}

/// Returns the tools of a server in a list of `@SERVER` and `@SERVER/TOOL`.
fn qualified(key: &str, server: &str, tree: &Node) -> Vec<String> {
    let names = tree.get(key).and_then(|list| names(&list.node));
    let tool = |name: String| {
        let rest = name.strip_prefix('@')?.strip_prefix(server)?;
        match rest.strip_prefix('/') {
            Some(tool) => Some(tool.to_owned()),
            None => rest.is_empty().then(|| "*".to_owned()),
        }
    };
    names
        .unwrap_or_default()
        .into_iter()
        .filter_map(tool)
        .collect()
}

fn path_names(path: &[&str], tree: &Node) -> Option<Vec<String>> {
    let mut node = tree;
    for key in path {
        node = &node.get(key)?.node;
    }
    names(node)
}

/// Returns the texts of a list, or `None` if the value is not a list.
fn names(node: &Node) -> Option<Vec<String>> {
    match &node.value {
        Value::List(items) => {
            let texts = items.iter().filter_map(Node::text);
            Some(texts.map(str::to_owned).collect())
        }
        _ => None,
    }
}
