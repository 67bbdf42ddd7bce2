//! What a user says of single tools of a server.

use std::collections::BTreeMap;

use pegboard_model::{Policy, Reason, ToolExample, ToolOverride};

use crate::node::{Entry, Value};
use crate::problem::Severity;
use crate::typed::Typed;

/// Longest summary; listings promise that no line is longer.
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

/// Where the table `tools` of a server goes.
pub(crate) struct ReadTools<'a> {
    /// What is said of single tools.
    pub(crate) tools: &'a mut BTreeMap<String, ToolOverride>,
    /// A tool's `policy` goes here.
    pub(crate) policies: &'a mut BTreeMap<String, Policy>,
    /// The lines of policies and switches, by their key.
    pub(crate) lines: &'a mut BTreeMap<String, usize>,
}

impl ReadTools<'_> {
    /// Reads the table: overrides by tool name.
    pub(crate) fn table(&mut self, entry: &Entry, typed: &mut Typed<'_>) {
        if matches!(entry.node.value, Value::List(_)) {
            // Another client's list of tools that its models may see.
            let example = typed
                .source
                .format
                .example("policies", r#"{"delete_*": "disable"}"#);
            typed.report(
                Severity::Advice,
                Reason::ConfigUnknownKey,
                entry.key_start,
                "a list of `tools` has no effect; all tools of the server are offered",
                format!("hide tools with `policies`, for example `{example}`"),
            );
            return;
        }
        let example = r#"{"tool_name": {"summary": "…"}}"#;
        for tool in typed.table(entry, example).unwrap_or_default() {
            self.tool(tool, typed);
        }
    }

    fn tool(&mut self, tool: &Entry, typed: &mut Typed<'_>) {
        // `NAME: "allow"` is short for a table that holds only the policy.
        if matches!(tool.node.value, Value::Text(_)) {
            if let Some(policy) = typed.rule(tool) {
                self.policies.insert(tool.key.clone(), policy);
                let key = format!("policies.{}", tool.key);
                self.lines.insert(key, typed.line_of(tool));
            }
            return;
        }
        let mut change = ToolOverride::default();
        for entry in typed.table(tool, r#"{"summary": "…"}"#).unwrap_or_default() {
            match entry.key.as_str() {
                "summary" => change.summary = summary(entry, typed),
                "description" => change.description = typed.text(entry),
                "category" => change.category = typed.text(entry),
                "examples" => change.examples = examples(entry, typed),
                "related" => change.related = typed.texts(entry),
                "enabled" => {
                    change.enabled = typed.boolean(entry);
                    let key = format!("tools.{}.enabled", tool.key);
                    self.lines.insert(key, typed.line_of(entry));
                }
                "deprecated" => {
                    change.deprecated = match &entry.node.value {
                        Value::Bool(true) => Some(String::new()),
                        Value::Bool(false) => None,
                        _ => typed.text(entry),
                    }
                }
                "policy" => {
                    if let Some(policy) = typed.policy(entry) {
                        self.policies.insert(tool.key.clone(), policy);
                        let key = format!("policies.{}", tool.key);
                        self.lines.insert(key, typed.line_of(entry));
                    }
                }
                _ => typed.unknown_key(entry, "a tool", TOOL_KEYS),
            }
        }
        self.tools.insert(tool.key.clone(), change);
    }
}

fn summary(entry: &Entry, typed: &mut Typed<'_>) -> Option<String> {
    let text = typed.text(entry)?;
    let length = text.chars().count();
    if length <= SUMMARY_CHARACTERS && !text.contains(['\n', '\r']) {
        return Some(text);
    }
    let message = if length > SUMMARY_CHARACTERS {
        format!(
            "the summary has {length} characters and is not used; {SUMMARY_CHARACTERS} are allowed"
        )
    } else {
        "the summary has more than one line and is not used".to_owned()
    };
    let help = "shorten it, and put the rest into `description`";
    typed.report(
        Severity::Warning,
        Reason::ConfigInvalid,
        entry.node.start,
        message,
        help,
    );
    None
}

/// Examples: tables with `arguments` (and a `description` and an `expected_output`), or just the arguments.
fn examples(entry: &Entry, typed: &mut Typed<'_>) -> Vec<ToolExample> {
    let Value::List(items) = &entry.node.value else {
        let example = typed
            .source
            .format
            .written(r#"[{"arguments": {"path": "/"}}]"#);
        let help = format!("write a list of tables, for example `{example}`");
        typed.invalid(
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
            let example = typed
                .source
                .format
                .written(r#"{"arguments": {"path": "/"}}"#);
            typed.invalid(
                whole.start,
                message,
                format!("write for example `{example}`"),
            );
            continue;
        }
        let description = match (arguments, item.get("description")) {
            (Some(_), Some(entry)) => typed.text(entry),
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
