//! Masks everything in a config file that may be a secret, for messages.

use pegboard_model::{find_secrets, has_url_secret, secret_arguments};

use crate::agent::AGENT_KEYS;
use crate::keys::{Key, find};
use crate::node::{Entry, Node, Value};
use crate::profile::PROFILE_KEYS;
use crate::review_settings::REVIEW_KEYS;
use crate::server_keys::SERVER_KEYS;
use crate::settings::SETTING_KEYS;
use crate::template::reference_spans;
use crate::text::Format;
use crate::trace::TRACE_KEYS;

/// How much of the values below a key may be displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Everything.
    Open,
    /// Everything except values of flags such as `--token`.
    Arguments,
    /// Everything except user, password and query.
    Address,
    /// Only the names of references.
    Hidden,
}

/// Returns the visibility of a key. Unknown keys are hidden: `barer` may contain what belongs to `bearer`.
pub(crate) fn visibility(root: &str, key: &str) -> Visibility {
    fn of<R>(keys: &'static [Key<R>], name: &str) -> Visibility {
        find(keys, name).map_or(Visibility::Hidden, |key| key.visibility)
    }
    match root {
        "policies" => Visibility::Open,
        "settings" => of(SETTING_KEYS, key),
        "profiles" => of(PROFILE_KEYS, key),
        "review" => of(REVIEW_KEYS, key),
        "trace" => of(TRACE_KEYS, key),
        "agent" => of(AGENT_KEYS, key),
        "servers" | "mcpServers" => of(SERVER_KEYS, key),
        _ => Visibility::Hidden,
    }
}

/// The parts of a file that may be displayed. Everything else is masked, including comments, which may contain old
/// tokens.
#[derive(Debug, Default)]
pub(crate) struct VisibleSpans(Vec<(usize, usize)>);

impl VisibleSpans {
    pub(crate) fn new(tree: &Node, source: &str) -> Self {
        let mut spans = Self::default();
        spans.references(tree, source);
        for root in tree.entries() {
            spans.key(root);
            if matches!(
                root.key.as_str(),
                "settings" | "policies" | "review" | "trace"
            ) {
                spans.table(&root.key, &root.node);
            } else {
                for server in root.node.entries() {
                    spans.key(server);
                    spans.table(&root.key, &server.node);
                }
            }
        }
        spans.merge();
        spans
    }

    /// Only the names of references are visible. Values with `Visibility::Open` are visible as a whole, so these
    /// spans may overlap; they are merged before they are used.
    fn references(&mut self, node: &Node, source: &str) {
        match &node.value {
            Value::Map(entries) => entries
                .iter()
                .for_each(|entry| self.references(&entry.node, source)),
            Value::List(items) => items.iter().for_each(|item| self.references(item, source)),
            Value::Text(_) => {
                let written = source.get(node.start..node.end).unwrap_or_default();
                let found = reference_spans(written).into_iter();
                self.0
                    .extend(found.map(|(start, end)| (node.start + start, node.start + end)));
            }
            _ => {}
        }
    }

    /// Sorts the spans and joins those that overlap.
    fn merge(&mut self) {
        self.0.sort_unstable();
        self.0.dedup_by(|later, earlier| {
            let overlaps = later.0 <= earlier.1;
            if overlaps {
                earlier.1 = earlier.1.max(later.1);
            }
            overlaps
        });
    }

    fn table(&mut self, root: &str, table: &Node) {
        for entry in table.entries() {
            self.key(entry);
            self.values(&entry.node, visibility(root, &entry.key));
        }
    }

    fn key(&mut self, entry: &Entry) {
        // Up to two quotes around a key.
        self.0
            .push((entry.key_start, entry.key_start + entry.key.len() + 2));
    }

    fn values(&mut self, node: &Node, visibility: Visibility) {
        match &node.value {
            Value::Map(entries) => {
                for entry in entries {
                    if visibility != Visibility::Hidden || is_plausible(entry) {
                        self.key(entry);
                    }
                    self.values(&entry.node, visibility);
                }
            }
            Value::List(items) => {
                for (item, flagged) in items.iter().zip(secret_items(items, visibility)) {
                    self.values(
                        item,
                        if flagged {
                            Visibility::Hidden
                        } else {
                            visibility
                        },
                    );
                }
            }
            Value::Text(text) => {
                let visible = match visibility {
                    Visibility::Open => true,
                    Visibility::Arguments => !has_written_secret(text),
                    Visibility::Address => text.contains("://") && !has_written_secret(text),
                    Visibility::Hidden => false,
                };
                if visible {
                    self.0.push((node.start, node.end));
                }
            }
            _ if visibility != Visibility::Hidden => self.0.push((node.start, node.end)),
            _ => {}
        }
    }

    /// Masks everything in a line that is not visible. The number of characters stays the same.
    pub(crate) fn mask(&self, line: &str, line_start: usize, format: Format) -> String {
        if is_toml_header(line, format) {
            return mask_from(line, line.find('#').unwrap_or(line.len()));
        }
        // Spans do not overlap, so they are sorted by their ends too.
        let first = self.0.partition_point(|(_, end)| *end <= line_start);
        let mut spans = self.0.get(first..).unwrap_or_default();
        line.char_indices()
            .map(|(at, character)| {
                let at = at + line_start;
                // Spans are sorted by their starts, so each is passed once.
                while let Some(((_, end), later)) = spans.split_first()
                    && *end <= at
                {
                    spans = later;
                }
                let is_visible = spans.first().is_some_and(|(start, _)| *start <= at);
                if is_visible || is_structural(character) {
                    character
                } else {
                    '*'
                }
            })
            .collect()
    }
}

/// Returns a key of `env` or `headers` for display. Names are not secret, but by mistake a value can be in the place
/// of a key; such a key has no value and does not look like a name.
pub(crate) fn masked_name(entry: &Entry) -> String {
    if is_plausible(entry) {
        entry.key.clone()
    } else {
        "***".to_owned()
    }
}

/// Longest name of a variable or header that is displayed.
const MAX_NAME_LENGTH: usize = 64;

fn is_plausible(entry: &Entry) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '*');
    !entry.key.is_empty()
        && entry.key.len() <= MAX_NAME_LENGTH
        && entry.key.chars().all(harmless)
        && (has_value(&entry.node) || looks_like_name(&entry.key))
}

/// Whether a value was written, including `null`.
fn has_value(node: &Node) -> bool {
    node.value != Value::Null || node.end > node.start
}

/// Whether a key without a value looks like a name: API keys and tokens mix digits and lower-case letters, names of
/// variables and headers do not.
fn looks_like_name(key: &str) -> bool {
    let has_digit = key.contains(|c: char| c.is_ascii_digit());
    let has_small = key.contains(|c: char| c.is_ascii_lowercase());
    !(has_digit && has_small) && find_secrets(key).is_empty()
}

/// Whether a text may contain a secret: a URL with a login or a query, or an API key.
pub(crate) fn has_written_secret(text: &str) -> bool {
    has_url_secret(text) || !find_secrets(text).is_empty()
}

/// Which items of a list of arguments may contain secrets.
pub(crate) fn secret_items(items: &[Node], visibility: Visibility) -> Vec<bool> {
    if visibility != Visibility::Arguments {
        return vec![false; items.len()];
    }
    secret_arguments(items.iter().map(|item| match &item.value {
        Value::Text(text) => text.as_str(),
        _ => "",
    }))
}

/// Masks a line of a file that could not be parsed. Only text that looks like a key stays visible.
pub(crate) fn mask_unparsed(line: &str, format: Format) -> String {
    if is_toml_header(line, format) {
        return mask_from(line, line.find('#').unwrap_or(line.len()));
    }
    let key_end = line.find(['=', ':']).unwrap_or(0);
    let has_key = looks_like_key(line.get(..key_end).unwrap_or_default());
    mask_from(line, if has_key { key_end } else { 0 })
}

fn mask_from(line: &str, shown_until: usize) -> String {
    let mask = |(at, character)| {
        if at < shown_until || is_structural(character) {
            character
        } else {
            '*'
        }
    };
    line.char_indices().map(mask).collect()
}

fn is_structural(character: char) -> bool {
    character.is_whitespace() || "[]{},\"'=:#".contains(character)
}

/// Whether a line is a TOML header such as `[servers.github]`, closed or not.
fn is_toml_header(line: &str, format: Format) -> bool {
    let trimmed = line.trim_start();
    let name = trimmed.trim_start_matches('[');
    format == Format::Toml
        && name.len() < trimmed.len()
        && ["server", "mcpServers", "settings"]
            .iter()
            .any(|root| name.starts_with(root))
        && !name
            .split('#')
            .next()
            .unwrap_or_default()
            .contains(['=', ','])
}

/// Whether text is a short word without digits, bare or quoted. Keys look like this, tokens do not.
fn looks_like_key(text: &str) -> bool {
    let text = text
        .trim()
        .trim_start_matches("{ ")
        .trim_start_matches("- ");
    let unquoted = text.trim_matches(['"', '\'']);
    let quotes = text.len() - unquoted.len();
    (quotes == 0 || quotes == 2)
        && unquoted.len() <= 24
        && unquoted
            .chars()
            .all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-' | '.'))
}
