//! Checks tool overrides of the configuration against the discovered tools.
//!
//! Loading cannot check them, because the tools and their arguments are known only after a discovery.

use std::collections::BTreeMap;

use pegboard_config::{LoadedConfig, Problem, Severity};
use pegboard_guard::check_arguments;
use pegboard_model::{Reason, ServerName, ServerRecord, ServerSpec, Tool, ToolRef, UntrustedText};

/// The minimum similarity of a name to be suggested.
const MIN_SIMILARITY: f64 = 0.8;

/// Discovery records by server.
pub(crate) type RecordsByServer<'a> = BTreeMap<&'a ServerName, &'a ServerRecord>;

/// Returns a warning for each override of an unknown tool, each example with invalid arguments and each unknown
/// related tool. Undiscovered servers are skipped.
pub(crate) fn override_problems(
    loaded: &LoadedConfig,
    known: &RecordsByServer<'_>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for spec in loaded.servers.values() {
        let Some(record) = known.get(&spec.name).filter(|record| is_known(record)) else {
            continue;
        };
        let check = Check {
            loaded,
            known,
            spec,
            record,
        };
        for name in check.tool_names() {
            check.tool(&name, &mut problems);
        }
    }
    problems
}

/// Returns true if the configuration contains tool overrides.
pub(crate) fn has_overrides(loaded: &LoadedConfig) -> bool {
    let mut rows = loaded.values.iter().map(|row| row.key.as_str());
    rows.any(|key| key.starts_with("servers.") && key.contains(".tools."))
}

fn is_known(record: &ServerRecord) -> bool {
    record.discovered_at.is_some()
}

/// A discovered server to check.
struct Check<'a> {
    loaded: &'a LoadedConfig,
    known: &'a RecordsByServer<'a>,
    spec: &'a ServerSpec,
    record: &'a ServerRecord,
}

impl Check<'_> {
    /// Returns the tool names in the table `tools` of the server. A policy in that table may be for a pattern, which is
    /// not a name.
    fn tool_names(&self) -> Vec<String> {
        let policies = self.spec.policies.keys();
        let written = policies.filter(|name| {
            let is_pattern = name.contains(['*', '?', '[']) || name.starts_with('@');
            !is_pattern && self.row(&format!("tools.{name}")).is_some()
        });
        let mut names: Vec<String> = self.spec.tools.keys().chain(written).cloned().collect();
        names.sort();
        names.dedup();
        names
    }

    fn tool(&self, name: &str, problems: &mut Vec<Problem>) {
        let key = format!("tools.{name}");
        let shown = UntrustedText::new(name).shortened(100);
        let Some(tool) = self.record.tools.iter().find(|tool| tool.name == name) else {
            // The override of a rejected tool has no effect either, but the rejection already explains why.
            if !self
                .record
                .rejections
                .iter()
                .any(|rejected| rejected.tool == name)
            {
                let message =
                    format!("the server has no tool `{shown}`; its override has no effect");
                problems.push(self.problem(&key, message, self.suggestion(name)));
            }
            return;
        };
        let Some(tool_override) = self.spec.tools.get(name) else {
            return;
        };
        for (at, example) in tool_override.examples.iter().enumerate() {
            if let Err(error) = check_arguments(tool, &example.arguments) {
                let number = at + 1;
                let message = format!(
                    "example {number} of tool `{shown}` is invalid: {}",
                    UntrustedText::new(&error.message).shortened(400)
                );
                let help = "fix the arguments of the example".to_owned();
                problems.push(self.problem(&format!("{key}.examples"), message, help));
            }
        }
        for related in tool_override.related.iter().flatten() {
            if !self.is_tool(related) {
                let related_shown = UntrustedText::new(related).shortened(100);
                let message = format!("related tool `{related_shown}` of `{shown}` does not exist");
                problems.push(self.problem(
                    &format!("{key}.related"),
                    message,
                    self.suggestion(related),
                ));
            }
        }
    }

    /// Returns true if the tool is known, or if it may belong to an undiscovered server.
    fn is_tool(&self, name: &str) -> bool {
        let has = |record: &ServerRecord, tool: &str| {
            let is = |known: &Tool| known.name == tool || known.exposed.as_str() == name;
            record.tools.iter().any(is)
        };
        if has(self.record, name) {
            return true;
        }
        match ToolRef::parse(name) {
            Some(ToolRef::Qualified { server, tool }) => match self.known.get(&server) {
                Some(record) if is_known(record) => has(record, tool),
                _ => self.loaded.servers.contains_key(&server),
            },
            Some(ToolRef::Bare(tool)) => self.known.values().any(|record| has(record, tool)),
            None => false,
        }
    }

    /// Suggests a fix for an unknown tool name.
    fn suggestion(&self, wrong: &str) -> String {
        let names = self.record.tools.iter().map(|tool| tool.name.as_str());
        let scored = names.map(|name| (strsim::jaro_winkler(wrong, name), name));
        let best = scored.max_by(|one, other| one.0.total_cmp(&other.0));
        match best.filter(|(score, _)| *score >= MIN_SIMILARITY) {
            Some((_, name)) => format!("did you mean `{}`?", UntrustedText::new(name)),
            None => format!(
                "remove it, or list the names with `pegboard tools {}`",
                self.spec.name
            ),
        }
    }

    /// Returns the source of a value of the server, by its key or by the first key below it.
    fn row(&self, key: &str) -> Option<&pegboard_config::EffectiveValue> {
        let key = format!("servers.{}.{}", self.spec.name, key);
        let below = format!("{key}.");
        let mut rows = self.loaded.values.iter();
        rows.find(|row| row.key == key || row.key.starts_with(&below))
    }

    fn problem(&self, key: &str, message: String, help: String) -> Problem {
        let mut problem = Problem::new(Severity::Warning, Reason::ConfigInvalid, message);
        problem.server = Some(self.spec.name.to_string());
        problem.help = help;
        let row = self.row(key);
        problem.file = row
            .and_then(|row| row.file.as_deref())
            .map(|file| file.to_path_buf());
        problem.line = row.and_then(|row| row.line);
        problem
    }
}
