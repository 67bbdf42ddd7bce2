//! Masks everything in a client's file that may be a secret. A diff shows lines around the change, which contain other
//! servers' tokens.

use pegboard_model::find_secrets;

use super::text::{ClientText, Container};
use crate::node::{Entry, Node, Value};
use crate::sensitive::{Visibility, has_written_secret, secret_items};

/// The longest key that is shown.
const MAX_KEY_LENGTH: usize = 64;

/// The parts of a text that may be shown.
pub(crate) struct VisibleParts(Vec<(usize, usize)>);

impl VisibleParts {
    /// Keys are visible, and of the servers' fields those that describe the program or the URL.
    pub(crate) fn new(text: &ClientText, container: &Container) -> Self {
        let mut parts = Self(Vec::new());
        if let Some(tree) = text.source.tree() {
            parts.values(tree, Visibility::Hidden);
        }
        for server in container.servers(&text.source) {
            for field in server.node.entries() {
                parts.values(&field.node, visibility(&server, field));
            }
        }
        parts.0.sort_unstable();
        parts
    }

    fn values(&mut self, node: &Node, visibility: Visibility) {
        match &node.value {
            Value::Map(entries) => {
                for entry in entries {
                    if is_plain_key(&entry.key) {
                        // Up to two quotes around a key.
                        let end = entry.key_start + entry.key.len() + 2;
                        self.0.push((entry.key_start, end));
                    }
                    self.values(&entry.node, visibility);
                }
            }
            Value::List(items) => {
                for (item, is_secret) in items.iter().zip(secret_items(items, visibility)) {
                    let visibility = if is_secret {
                        Visibility::Hidden
                    } else {
                        visibility
                    };
                    self.values(item, visibility);
                }
            }
            Value::Text(text) => {
                let is_visible = match visibility {
                    Visibility::Open | Visibility::Arguments => !has_written_secret(text),
                    Visibility::Address => text.contains("://") && !has_written_secret(text),
                    Visibility::Hidden => false,
                };
                if is_visible {
                    self.0.push((node.start, node.end));
                }
            }
            // Numbers and booleans are no tokens, unless someone wrote one without quotes.
            Value::Bool(_) | Value::Null => self.0.push((node.start, node.end)),
            Value::Integer(number) if number.unsigned_abs() < 1_000_000 => {
                self.0.push((node.start, node.end));
            }
            _ => {}
        }
    }

    /// Masks everything in a line that is not visible. A hidden part becomes `***`, whatever its length.
    pub(crate) fn mask(&self, line: &str, line_start: usize) -> String {
        let mut shown = String::with_capacity(line.len());
        let mut is_hidden = false;
        for (at, character) in line.char_indices() {
            if self.is_visible(at + line_start) || is_structural(character) {
                shown.push(character);
                is_hidden = false;
            } else if !std::mem::replace(&mut is_hidden, true) {
                shown.push_str("***");
            }
        }
        shown
    }

    fn is_visible(&self, at: usize) -> bool {
        // Parts may be nested in each other only by equal starts, so a few before the position suffice.
        let later = self.0.partition_point(|(start, _)| *start <= at);
        let before = self.0.get(later.saturating_sub(4)..later);
        before.is_some_and(|parts| parts.iter().any(|(_, end)| at < *end))
    }
}

/// How much of a server's field may be shown.
fn visibility(server: &Entry, field: &Entry) -> Visibility {
    let is_own = crate::client_files::is_pegboard(server, None);
    match field.key.as_str() {
        "command" | "cmd" | "args" => Visibility::Arguments,
        "url" | "serverUrl" | "httpUrl" | "uri" | "baseUrl" => Visibility::Address,
        "type" | "transport" | "name" | "cwd" | "tools" | "description" => Visibility::Open,
        "default_tools_approval_mode" | "bearer_token_env_var" => Visibility::Open,
        // Pegboard's own variables are its folders.
        "env" | "envs" | "environment" if is_own => Visibility::Open,
        _ => Visibility::Hidden,
    }
}

fn is_plain_key(key: &str) -> bool {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || "_-./@ ".contains(c);
    key.len() <= MAX_KEY_LENGTH && key.chars().all(is_harmless) && find_secrets(key).is_empty()
}

fn is_structural(character: char) -> bool {
    character.is_whitespace() || "[]{},\"'=:#-./".contains(character)
}
