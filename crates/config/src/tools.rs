//! The `tools` table of a server: overrides of single tools.

use std::collections::BTreeMap;

use pegboard_model::{Policy, Reason, ToolExample, ToolOverride};

use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::reader::TableReader;

/// Maximum length of a summary. Listings rely on it.
const SUMMARY_CHARACTERS: usize = 80;

const TOOL_KEYS: &[&str] = &[
    "category",
    "deprecated",
    "description",
    "enabled",
    "examples",
    "policy",
    "related",
    "summary",
];

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
                self.policies.insert(tool.key.clone(), policy);
                let key = format!("policies.{}", tool.key);
                self.lines.insert(key, reader.line_of(tool));
            }
            return;
        }
        let mut change = ToolOverride::default();
        for entry in reader
            .table(tool, r#"{"summary": "…"}"#)
            .unwrap_or_default()
        {
            match entry.key.as_str() {
                "summary" => change.summary = summary(entry, reader),
                "description" => change.description = reader.text(entry),
                "category" => change.category = reader.text(entry),
                "examples" => change.examples = examples(entry, reader),
                "related" => change.related = reader.texts(entry),
                "enabled" => {
                    change.enabled = reader.boolean(entry);
                    let key = format!("tools.{}.enabled", tool.key);
                    self.lines.insert(key, reader.line_of(entry));
                }
                "deprecated" => {
                    change.deprecated = match &entry.node.value {
                        Value::Bool(true) => Some(String::new()),
                        Value::Bool(false) => None,
                        _ => reader.text(entry),
                    }
                }
                "policy" => {
                    if let Some(policy) = reader.policy(entry) {
                        self.policies.insert(tool.key.clone(), policy);
                        let key = format!("policies.{}", tool.key);
                        self.lines.insert(key, reader.line_of(entry));
                    }
                }
                _ => reader.unknown_key(entry, "a tool", TOOL_KEYS),
            }
        }
        self.tools.insert(tool.key.clone(), change);
    }
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
    reader.report(
        Severity::Warning,
        Reason::ConfigInvalid,
        entry.node.start,
        message,
        help,
    );
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
