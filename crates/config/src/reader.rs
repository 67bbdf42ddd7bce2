//! Reads values of the expected type, or reports how to write them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use pegboard_model::{Layer, Policy, Reason, Template, UntrustedText};

use crate::duration::parse_duration;
use crate::keys::{Key, Word, find};
use crate::node::{Entry, Node, Value};
use crate::problem::{Problem, Severity};
use crate::sensitive::masked_name;
use crate::template::{ReferenceSource, TemplateError, is_secret_reference, resolve};
use crate::text::SourceText;

/// Annotations that a policy rule can name instead of a tool.
pub(crate) const ANNOTATIONS: [&str; 2] = ["@destructive", "@read_only"];

/// Reads the values of one table and collects its problems.
pub(crate) struct TableReader<'a> {
    pub(crate) source: &'a SourceText,
    pub(crate) values: &'a ReferenceSource<'a>,
    /// The file's layer. A project's servers run in the project folder, the user's own servers do not.
    pub(crate) layer: Layer,
    /// The folder that relative paths start from.
    pub(crate) folder: &'a Path,
    /// The server's name as written, if the table is a server.
    pub(crate) server: Option<&'a str>,
    /// The server's `env`, once it was read. References are looked up here first.
    pub(crate) own_env: BTreeMap<String, Template>,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> TableReader<'a> {
    pub(crate) fn failed(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    pub(crate) fn report(
        &mut self,
        severity: Severity,
        reason: Reason,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        if severity != Severity::Error && self.source.skips_warning() {
            return;
        }
        let mut problem = Problem::new(severity, reason, message)
            .help(help)
            .at(self.source, at);
        if let Some(server) = self.server {
            problem = problem.of_server(server);
        }
        self.problems.push(problem);
    }

    pub(crate) fn invalid(
        &mut self,
        at: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(Severity::Error, Reason::ConfigInvalid, at, message, help);
    }

    pub(crate) fn warn(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        self.report(Severity::Warning, Reason::ConfigInvalid, at, message, help);
    }

    /// Formats a key with a value, given as JSON, in the file's format.
    pub(crate) fn example(&self, key: &str, value: &str) -> String {
        format!(
            "write `{}`",
            self.source
                .format
                .example(&UntrustedText::new(key).shortened(60).to_string(), value)
        )
    }

    fn wrong_kind(&mut self, entry: &Entry, wanted: &str, example: &str) {
        let key = UntrustedText::new(&entry.key).shortened(60).to_string();
        let message = format!("`{key}` must be {wanted}, but it is {}", entry.node.kind());
        let help = self.example(&entry.key, example);
        self.invalid(entry.node.start, message, help);
    }

    pub(crate) fn text(&mut self, entry: &Entry) -> Option<String> {
        match &entry.node.value {
            Value::Text(text) => Some(text.clone()),
            _ => {
                self.wrong_kind(entry, "a string", "\"…\"");
                None
            }
        }
    }

    pub(crate) fn boolean(&mut self, entry: &Entry) -> Option<bool> {
        match entry.node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.wrong_kind(entry, "true or false, without quotes", "true");
                None
            }
        }
    }

    /// Reads a duration. `zero` permits a duration of zero.
    pub(crate) fn duration(&mut self, entry: &Entry, zero: bool) -> Option<Duration> {
        let parsed = match &entry.node.value {
            Value::Text(text) => parse_duration(text),
            Value::Integer(seconds) => parse_duration(&seconds.to_string()),
            _ => Err("write a duration as `30s`, `5m`, `24h`, `500ms` or `1h30m`".to_owned()),
        };
        let key = &entry.key;
        match parsed {
            Ok(duration) if duration.is_zero() && !zero => {
                self.invalid(
                    entry.node.start,
                    format!("`{key}` must be longer than zero"),
                    "write for example `30s`",
                );
                None
            }
            Ok(duration) => Some(duration),
            Err(help) => {
                self.invalid(entry.node.start, format!("`{key}` is not a duration"), help);
                None
            }
        }
    }

    pub(crate) fn count(&mut self, entry: &Entry, most: usize) -> Option<usize> {
        match entry.node.value {
            Value::Integer(number) => match usize::try_from(number) {
                Ok(number) if (1..=most).contains(&number) => return Some(number),
                _ => {
                    let message = format!("`{}` must be between 1 and {most}", entry.key);
                    self.invalid(
                        entry.node.start,
                        message,
                        format!("write a number up to {most}"),
                    );
                }
            },
            _ => self.wrong_kind(entry, "a whole number", "8"),
        }
        None
    }

    pub(crate) fn texts(&mut self, entry: &Entry) -> Option<Vec<String>> {
        let Value::List(items) = &entry.node.value else {
            self.wrong_kind(entry, "a list of strings", "[\"…\", \"…\"]");
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match &item.value {
                Value::Text(text) => texts.push(text.clone()),
                _ => {
                    let message = format!(
                        "`{}` must contain only strings, but this is {}",
                        entry.key,
                        item.kind()
                    );
                    self.invalid(item.start, message, "put the value in quotes");
                    return None;
                }
            }
        }
        Some(texts)
    }

    /// Reads one of the words of an enum.
    pub(crate) fn one_of<T: Word>(&mut self, entry: &Entry) -> Option<T> {
        let words: Vec<(&str, T)> = T::ALL.iter().map(|value| (value.word(), *value)).collect();
        self.choice(entry, &words)
    }

    /// Reads one of a fixed set of words.
    pub(crate) fn choice<T: Copy>(&mut self, entry: &Entry, words: &[(&str, T)]) -> Option<T> {
        let found = match &entry.node.value {
            Value::Text(text) => words.iter().find(|(word, _)| word == text),
            _ => None,
        };
        if found.is_none() {
            let list: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            let key = UntrustedText::new(&entry.key).shortened(60).to_string();
            let example = words
                .first()
                .map_or(String::new(), |(word, _)| format!("\"{word}\""));
            let help = self.example(&entry.key, &example);
            self.invalid(
                entry.node.start,
                format!("`{key}` must be one of {}", list.join(", ")),
                help,
            );
        }
        found.map(|(_, value)| *value)
    }

    /// Reads the policy of a rule. Reports a key that is an unknown annotation.
    pub(crate) fn rule(&mut self, entry: &Entry) -> Option<Policy> {
        let policy = self.one_of::<Policy>(entry)?;
        if entry.key.starts_with('@') && !ANNOTATIONS.contains(&entry.key.as_str()) {
            let key = UntrustedText::new(&entry.key).shortened(60).to_string();
            let message = format!("`{key}` is not a tool annotation");
            let help = format!("write one of `{}`", ANNOTATIONS.join("`, `"));
            self.invalid(entry.key_start, message, help);
            return None;
        }
        Some(policy)
    }

    /// Returns the line of an entry's key, from 1.
    pub(crate) fn line_of(&self, entry: &Entry) -> usize {
        self.source.line_of(entry.key_start)
    }

    /// Returns the entries of a table, and reports duplicate keys.
    pub(crate) fn table<'n>(&mut self, entry: &'n Entry, example: &str) -> Option<&'n [Entry]> {
        match &entry.node.value {
            Value::Map(entries) => {
                self.duplicates(entries);
                Some(entries)
            }
            _ => {
                self.wrong_kind(entry, "a table", example);
                None
            }
        }
    }

    /// Returns the entries of a table without its duplicates, which are reported.
    pub(crate) fn unique_entries<'n>(&mut self, entry: &'n Entry, example: &str) -> Vec<&'n Entry> {
        let entries = self.table(entry, example).unwrap_or_default();
        let pairs = duplicates(entries);
        let twice: HashSet<&str> = pairs.iter().map(|(_, entry)| entry.key.as_str()).collect();
        let is_unique = |entry: &&Entry| !twice.contains(entry.key.as_str());
        entries.iter().filter(is_unique).collect()
    }

    /// Reads entries by the keys of their table, and reports unknown keys. Returns the entries for which `read`
    /// returned `Some`.
    pub(crate) fn each_key<'n, R>(
        &mut self,
        entries: impl IntoIterator<Item = &'n Entry>,
        keys: &'static [Key<R>],
        place: &str,
        mut read: impl FnMut(&mut Self, &'n Entry, &R) -> Option<()>,
    ) -> Vec<&'n Entry> {
        let mut applied = Vec::new();
        for entry in entries {
            match find(keys, &entry.key) {
                Some(key) => applied.extend(read(self, entry, &key.read).map(|()| entry)),
                None => {
                    let names = keys.iter().filter(|key| !key.is_client_key);
                    self.unknown_key(entry, place, names.map(|key| key.name));
                }
            }
        }
        applied
    }

    /// Reports every duplicate key.
    pub(crate) fn duplicates(&mut self, entries: &[Entry]) {
        for (first, second) in duplicates(entries) {
            let key = masked_name(second);
            let (one, two) = (
                self.source.line_of(first.key_start),
                self.source.line_of(second.key_start),
            );
            let message = format!(
                "`{key}` is defined twice, on line {one} and on line {two}; both are ignored"
            );
            let help = format!("remove line {one} or line {two}");
            self.report(
                Severity::Error,
                Reason::ConfigDuplicate,
                second.key_start,
                message,
                help,
            );
        }
    }

    /// Reads a value and resolves `${…}`. Numbers and booleans are converted to text.
    pub(crate) fn template(&mut self, key: &str, node: &Node) -> Option<Template> {
        let text = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Null => {
                let message = format!("`{key}` is null");
                self.invalid(node.start, message, "give it a string or remove it");
                return None;
            }
            Value::List(_) | Value::Map(_) => {
                let message = format!("`{key}` must be a string, but it is {}", node.kind());
                let help = self.example(key.rsplit('.').next().unwrap_or(key), "\"…\"");
                self.invalid(node.start, message, help);
                return None;
            }
        };
        let error = match resolve(&text, self.values, &self.own_env) {
            Ok(template) => return Some(template),
            Err(error) => error,
        };
        let (reason, message, help) = match error {
            TemplateError::VariableMissing(name) => (
                Reason::ConfigSecretMissing,
                format!("`{key}` needs the variable `{name}`, which is not set"),
                match name.as_str() {
                    "workspaceFolder" => "write `${project}` for the project's folder".to_owned(),
                    "userHome" => "write `${HOME}` for your home folder".to_owned(),
                    _ => format!("set `{name}`, or give a default as `${{{name}:-value}}`"),
                },
            ),
            TemplateError::Prompt(name) => {
                // Text that is not a valid name may be a secret in the wrong place.
                let (shown, name) = match is_secret_reference(&name) {
                    true => (name.as_str(), name.as_str()),
                    false => ("…", "NAME"),
                };
                (
                    Reason::ConfigInvalid,
                    format!("`{key}`: `${{input:{shown}}}` is a VS Code prompt"),
                    format!("run `pegboard secret set {name}` and write `${{secret:{name}}}`"),
                )
            }
            TemplateError::SecretMissing(name) => (
                Reason::ConfigSecretMissing,
                format!("`{key}` needs the secret `{name}`, which is not stored"),
                format!("run `pegboard secret set {name}`"),
            ),
            TemplateError::Malformed(why) => (
                Reason::ConfigInvalid,
                format!("`{key}` is malformed: {why}"),
                "write `${NAME}`, `${NAME:-default}`, `${secret:NAME}` or `${project}`; write a literal `${` as `$${`".to_owned(),
            ),
            TemplateError::TooLarge => (
                Reason::ConfigTooLarge,
                format!("`{key}` is larger than {} bytes", self.values.limits.value_bytes),
                "shorten the value, or let the server read it from a file".to_owned(),
            ),
        };
        self.report(Severity::Error, reason, node.start, message, help);
        None
    }

    /// Reads a table of values and resolves `${…}`.
    pub(crate) fn templates(&mut self, entry: &Entry) -> BTreeMap<String, Template> {
        let mut templates = BTreeMap::new();
        for inner in self
            .table(entry, r#"{"NAME": "value"}"#)
            .unwrap_or_default()
        {
            let key = format!("{}.{}", entry.key, masked_name(inner));
            if let Some(template) = self.template(&key, &inner.node) {
                templates.insert(inner.key.clone(), template);
            }
        }
        templates
    }

    /// Warns of an unknown key and suggests a similar one.
    pub(crate) fn unknown_key<'k>(
        &mut self,
        entry: &Entry,
        place: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        // Before the search for a similar key, which is the expensive part.
        if self.source.skips_warning() {
            return;
        }
        let key = UntrustedText::new(&entry.key).shortened(60).to_string();
        let near = nearest(&entry.key, known);
        let help = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "remove it; `pegboard config schema` lists every key".to_owned(),
        };
        let message = format!("`{key}` is not a key of {place}, and has no effect");
        self.without_effect(entry, message, help);
    }

    /// Warns of a setting that is outside of `settings`.
    pub(crate) fn misplaced_setting(&mut self, entry: &Entry) {
        let message = format!("`{}` has no effect outside of `settings`", entry.key);
        self.without_effect(entry, message, "move it into `settings`".to_owned());
    }

    fn without_effect(&mut self, entry: &Entry, message: String, help: String) {
        self.report(
            Severity::Warning,
            Reason::ConfigUnknownKey,
            entry.key_start,
            message,
            help,
        );
    }
}

/// Returns the first entry paired with each duplicate of its key.
pub(crate) fn duplicates(entries: &[Entry]) -> Vec<(&Entry, &Entry)> {
    const SMALL_TABLE: usize = 24;
    let mut pairs = Vec::new();
    if entries.len() <= SMALL_TABLE {
        for (at, entry) in entries.iter().enumerate() {
            let earlier = entries.iter().take(at).find(|other| other.key == entry.key);
            pairs.extend(earlier.map(|first| (first, entry)));
        }
        return pairs;
    }
    let mut seen: HashMap<&str, &Entry> = HashMap::with_capacity(entries.len());
    for entry in entries {
        match seen.get(entry.key.as_str()) {
            Some(first) => pairs.push((*first, entry)),
            None => drop(seen.insert(&entry.key, entry)),
        }
    }
    pairs
}

/// Returns up to three names that are most similar to `wrong`, best match first.
pub(crate) fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    const COMPARED_CHARACTERS: usize = 64;
    const MIN_SIMILARITY: f64 = 0.75;
    let wrong: String = wrong
        .to_lowercase()
        .chars()
        .take(COMPARED_CHARACTERS)
        .collect();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| {
            let prefix = wrong.len() >= 3 && name.to_lowercase().starts_with(&wrong);
            let score = strsim::jaro_winkler(&wrong, &name.to_lowercase());
            (if prefix { score.max(0.95) } else { score }, name)
        })
        .filter(|(score, _)| *score >= MIN_SIMILARITY)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(3)
        .map(|(_, name)| name.to_owned())
        .collect()
}
