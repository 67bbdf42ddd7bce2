//! The `tools` table of a server: overrides of single tools.

use std::collections::BTreeMap;

use pegboard_model::{Policy, Reason, ToolExample, ToolOverride};
use serde_json::json;

use crate::keys::{ValueType, keys, words};
use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::reader::TableReader;

/// Maximum length of a summary. Listings rely on it.
const SUMMARY_CHARACTERS: usize = 80;

type ReadTool = fn(&mut ToolTable<'_, '_>, &Entry, &mut TableReader<'_>);

const SUMMARY: ValueType =
    ValueType::Custom(|| json!({ "type": "string", "maxLength": SUMMARY_CHARACTERS }));
const EXAMPLES: ValueType =
    ValueType::Custom(|| json!({ "type": "array", "items": { "type": "object" } }));
const DEPRECATED: ValueType = ValueType::Custom(|| json!({ "type": ["boolean", "string"] }));

keys! {
    /// The keys of a tool.
    const TOOL_KEYS: ReadTool;

    /// One line for listings. A longer one is ignored with a warning.
    "summary": SUMMARY, |tool, entry, reader| tool.change.summary = summary(entry, reader);
    /// The full description.
    "description": ValueType::Text, |tool, entry, reader| tool.change.description = reader.text(entry);
    /// The category; `a/b` is below `a`.
    "category": ValueType::Text, |tool, entry, reader| tool.change.category = reader.text(entry);
    /// Example calls: tables with `arguments` and optionally `description` and `expected_output`, or just the arguments.
    "examples": EXAMPLES, |tool, entry, reader| tool.change.examples = examples(entry, reader);
    /// Related tools that `describe` names.
    "related": ValueType::TextList, |tool, entry, reader| tool.change.related = reader.texts(entry);
    /// Your own words for the tool: [searches](search.md#your-own-words) that contain them find it. At most 16.
    "aliases": ValueType::TextList, |tool, entry, reader| tool.change.aliases = own_words(entry, reader);
    /// Whether the tool should no longer be used. A string says what to use instead.
    "deprecated": DEPRECATED, |tool, entry, reader| tool.change.deprecated = match &entry.node.value {
        Value::Bool(true) => Some(String::new()),
        Value::Bool(false) => None,
        _ => reader.text(entry),
    };
    /// Whether the tool is available.
    "enabled": ValueType::Boolean, |tool, entry, reader| {
        tool.change.enabled = reader.boolean(entry);
        let key = format!("tools.{}.enabled", tool.name);
        tool.server.lines.insert(key, reader.line_of(entry));
    };
    /// The [policy](policies.md) of the tool.
    "policy": ValueType::OneOf(words::<Policy>), |tool, entry, reader| {
        if let Some(policy) = reader.one_of(entry) {
            tool.server.set_policy(tool.name, policy, entry, reader);
        }
    };
}

/// A tool's table while it is read.
pub(crate) struct ToolTable<'t, 'a> {
    server: &'t mut ReadTools<'a>,
    name: &'t str,
    change: ToolOverride,
}

/// Collects the values of a server's `tools` table.
pub(crate) struct ReadTools<'a> {
    pub(crate) tools: &'a mut BTreeMap<String, ToolOverride>,
    /// Receives the `policy` of each tool.
    pub(crate) policies: &'a mut BTreeMap<String, Policy>,
    /// Lines of `policy` and `enabled`, by key.
    pub(crate) lines: &'a mut BTreeMap<String, usize>,
}

impl ReadTools<'_> {
    /// Reads the table, which contains overrides by tool name.
    pub(crate) fn table(&mut self, entry: &Entry, reader: &mut TableReader<'_>) {
        if matches!(entry.node.value, Value::List(_)) {
            // Other clients have a list of tools that models may see.
            let example = reader
                .source
                .format
                .example("policies", r#"{"delete_*": "disable"}"#);
            reader.report(
                Severity::Advice,
                Reason::ConfigUnknownKey,
                entry.key_start,
                "a list of `tools` has no effect; all tools of the server are available",
                format!("hide tools with `policies`, for example `{example}`"),
            );
            return;
        }
        let example = r#"{"tool_name": {"summary": "…"}}"#;
        for tool in reader.table(entry, example).unwrap_or_default() {
            self.tool(tool, reader);
        }
    }

    fn tool(&mut self, tool: &Entry, reader: &mut TableReader<'_>) {
        // `NAME: "allow"` is short for a table with only a policy.
        if matches!(tool.node.value, Value::Text(_)) {
            if let Some(policy) = reader.rule(tool) {
                self.set_policy(&tool.key, policy, tool, reader);
            }
            return;
        }
        let entries = reader
            .table(tool, r#"{"summary": "…"}"#)
            .unwrap_or_default();
        let mut table = ToolTable {
            server: self,
            name: &tool.key,
            change: ToolOverride::default(),
        };
        reader.each_key(entries, TOOL_KEYS, "a tool", |reader, entry, read| {
            read(&mut table, entry, reader);
            Some(())
        });
        let change = table.change;
        self.tools.insert(tool.key.clone(), change);
    }

    fn set_policy(&mut self, tool: &str, policy: Policy, entry: &Entry, reader: &TableReader<'_>) {
        self.policies.insert(tool.to_owned(), policy);
        let line = reader.line_of(entry);
        self.lines.insert(format!("policies.{tool}"), line);
    }
}

/// Maximum number of aliases of a tool, and of keywords of a server. Every search compares all of them.
const MAX_OWN_WORDS: usize = 16;

/// Reads the user's own words for a tool or a server.
pub(crate) fn own_words(entry: &Entry, reader: &mut TableReader<'_>) -> Vec<String> {
    let mut words = reader.texts(entry).unwrap_or_default();
    words.retain(|word| !word.trim().is_empty());
    if words.len() > MAX_OWN_WORDS {
        let message = format!(
            "there are {} entries; only the first {MAX_OWN_WORDS} are used",
            words.len()
        );
        reader.warn(entry.node.start, message, "keep the most useful ones");
        words.truncate(MAX_OWN_WORDS);
    }
    words
}

fn summary(entry: &Entry, reader: &mut TableReader<'_>) -> Option<String> {
    let text = reader.text(entry)?;
    let length = text.chars().count();
    if length <= SUMMARY_CHARACTERS && !text.contains(['\n', '\r']) {
        return Some(text);
    }
    let message = if length > SUMMARY_CHARACTERS {
        format!(
            "the summary has {length} characters and is ignored; at most {SUMMARY_CHARACTERS} are allowed"
        )
    } else {
        "the summary has more than one line and is ignored".to_owned()
    };
    let help = "shorten it, and put the rest into `description`";
    reader.warn(entry.node.start, message, help);
    None
}

/// Reads examples: tables with `arguments` and optionally `description` and `expected_output`, or just the arguments.
fn examples(entry: &Entry, reader: &mut TableReader<'_>) -> Vec<ToolExample> {
    let Value::List(items) = &entry.node.value else {
        let example = reader
            .source
            .format
            .written(r#"[{"arguments": {"path": "/"}}]"#);
        let help = format!("write a list of tables, for example `{example}`");
        reader.invalid(
            entry.node.start,
            format!("`examples` must be a list, but it is {}", entry.node.kind()),
            help,
        );
        return Vec::new();
    };
    let mut examples = Vec::with_capacity(items.len());
    for item in items {
        let arguments = item.get("arguments");
        let whole = arguments.map_or(item, |entry| &entry.node);
        if !matches!(whole.value, Value::Map(_)) {
            let message = format!(
                "the arguments of an example must be a table, but they are {}",
                whole.kind()
            );
            let example = reader
                .source
                .format
                .written(r#"{"arguments": {"path": "/"}}"#);
            reader.invalid(
                whole.start,
                message,
                format!("write for example `{example}`"),
            );
            continue;
        }
        let description = match (arguments, item.get("description")) {
            (Some(_), Some(entry)) => reader.text(entry),
            _ => None,
        };
        let expected_output = match (arguments, item.get("expected_output")) {
            (Some(_), Some(entry)) => Some(entry.node.to_json()),
            _ => None,
        };
        examples.push(ToolExample {
            description,
            arguments: whole.to_json(),
            expected_output,
        });
    }
    examples
}
