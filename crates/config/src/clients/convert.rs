//! Translates an entry of a client's file into a draft of a server.

use std::path::Path;
use std::time::Duration;

use pegboard_model::{PROJECT_REFERENCE, Reason};

use super::draft::{Draft, DraftTransport};
use super::env_file::read_env_file;
use super::fields::{Meaning, TransportWord, meaning, transport_word};
use super::secret_values::{SecretPlace, mark_secrets};
use super::table::{Client, FileScope, TimeoutUnit};
use super::tool_rules::ToolRules;
use super::value::{ImportValue, ValuePart};
use super::variables::{Variables, is_name};
use crate::node::{Entry, Node, Value};
use crate::problem::{Problem, shown_text};
use crate::text::SourceText;
use crate::working_dir::{dependent_runner, is_relative_path};

/// Maximum number of variables or headers of one server.
const MAX_PAIRS: usize = 500;

/// The file that entries are from.
pub(super) struct FileContext<'a> {
    pub(super) client: &'static Client,
    pub(super) scope: FileScope,
    pub(super) source: &'a SourceText,
    pub(super) variables: Variables<'a>,
}

/// Translates one entry.
///
/// # Errors
/// Fails if the entry has no usable transport or a value of the wrong type.
pub(super) fn convert(
    context: &FileContext<'_>,
    name: &str,
    at: usize,
    node: &Node,
) -> Result<Draft, Problem> {
    let mut reading = Reading {
        context,
        name,
        at,
        parts: Parts::default(),
        notes: Vec::new(),
    };
    if !matches!(node.value, Value::Map(_)) {
        let message = format!("the entry must be a table, but it is {}", node.kind());
        return Err(reading.broken(node.start, message, "fix the entry in the client's file"));
    }
    reading.table(node)?;
    let mut rules = ToolRules::of_entry(context.client, node);
    if let Some(tree) = context.source.tree()
        && !rules.add_file_lists(context.client, name, tree)
    {
        reading.parts.is_disabled = Some(true);
    }
    reading.draft(rules)
}

/// The keys of an entry as they are read.
#[derive(Default)]
struct Parts {
    words: Vec<ImportValue>,
    args: Vec<ImportValue>,
    env: Vec<(String, ImportValue)>,
    file_env: Vec<(String, ImportValue)>,
    cwd: Option<ImportValue>,
    url: Option<ImportValue>,
    headers: Vec<(String, ImportValue)>,
    bearer: Option<ImportValue>,
    bearer_variable: Option<String>,
    bearer_header: Option<String>,
    bearer_format: Option<String>,
    word: Option<TransportWord>,
    is_enabled: Option<bool>,
    is_disabled: Option<bool>,
    description: Option<String>,
    call_timeout: Option<Duration>,
    discovery_timeout: Option<Duration>,
}

struct Reading<'r, 'a> {
    context: &'r FileContext<'a>,
    name: &'r str,
    at: usize,
    parts: Parts,
    notes: Vec<String>,
}

impl Reading<'_, '_> {
    fn broken(&self, at: usize, message: impl Into<String>, help: &str) -> Problem {
        Problem::error(Reason::ConfigInvalid, message)
            .help(help)
            .of_server(self.name)
            .at(self.context.source, at)
    }

    fn wrong_kind(&self, entry: &Entry, expected: &str) -> Problem {
        let key = shown_text(&entry.key, 60);
        let message = format!(
            "`{key}` must be {expected}, but it is {}",
            entry.node.kind()
        );
        self.broken(
            entry.node.start,
            message,
            "fix the entry in the client's file",
        )
    }

    fn note(&mut self, key: &str, reason: &str) {
        let key = shown_text(key, 60);
        self.notes
            .push(format!("`{key}` is not carried over: {reason}"));
    }

    fn table(&mut self, node: &Node) -> Result<(), Problem> {
        for entry in node.entries() {
            self.key(entry)?;
        }
        Ok(())
    }

    fn key(&mut self, entry: &Entry) -> Result<(), Problem> {
        let lists = &self.context.client.tool_lists;
        let key = entry.key.as_str();
        if [lists.allow, lists.deny, lists.approve]
            .iter()
            .any(|keys| keys.contains(&key))
        {
            return Ok(());
        }
        if entry.node.value == Value::Null {
            return Ok(());
        }
        let Some(meaning) = meaning(key) else {
            self.note(key, "Pegboard does not know this key");
            return Ok(());
        };
        match meaning {
            Meaning::Command => self.command(entry)?,
            Meaning::Args => self.parts.args = self.texts(entry)?,
            Meaning::Env => self.parts.env = self.pairs(entry)?,
            Meaning::EnvNames => self.env_names(entry, |name| {
                ImportValue::reference(format!("${{{name}:-}}"))
            })?,
            Meaning::StoredEnvNames => {
                let variables = &self.context.variables;
                self.env_names(entry, |name| {
                    let from = "a secret that the client stores".to_owned();
                    ImportValue(vec![ValuePart::Prompt {
                        name: variables.prompt_name(name),
                        from,
                    }])
                })?;
            }
            Meaning::EnvFile => self.env_file(entry)?,
            Meaning::Cwd => self.parts.cwd = Some(self.value(entry)?),
            Meaning::Url => {
                self.parts.url = Some(self.value(entry)?);
                if key.eq_ignore_ascii_case("httpUrl") || key == "http_url" {
                    self.parts.word.get_or_insert(TransportWord::Http);
                }
            }
            Meaning::Headers => {
                let headers = self.pairs(entry)?;
                self.parts.headers.extend(headers);
            }
            Meaning::HeaderVariables => self.header_variables(entry)?,
            Meaning::Bearer => self.parts.bearer = Some(self.value(entry)?),
            Meaning::BearerVariable => self.parts.bearer_variable = Some(self.text(entry)?),
            Meaning::BearerHeader => self.parts.bearer_header = Some(self.text(entry)?),
            Meaning::BearerFormat => self.parts.bearer_format = Some(self.text(entry)?),
            Meaning::Transport => self.transport(entry)?,
            Meaning::RequestOptions => self.request_options(entry)?,
            Meaning::Enabled => self.parts.is_enabled = Some(self.boolean(entry)?),
            Meaning::Disabled => self.parts.is_disabled = Some(self.boolean(entry)?),
            Meaning::Description => self.parts.description = Some(self.text(entry)?),
            Meaning::CallTimeout => {
                self.parts.call_timeout = match self.context.client.timeout {
                    TimeoutUnit::Seconds => self.timeout(entry, 1000.0),
                    TimeoutUnit::Milliseconds => self.timeout(entry, 1.0),
                    TimeoutUnit::NotOfCalls => {
                        self.note(key, "`discovery_timeout` of Pegboard applies");
                        None
                    }
                };
            }
            Meaning::CallTimeoutMs => self.parts.call_timeout = self.timeout(entry, 1.0),
            Meaning::CallTimeoutSeconds => self.parts.call_timeout = self.timeout(entry, 1000.0),
            Meaning::StartTimeoutSeconds => {
                self.parts.discovery_timeout = self.timeout(entry, 1000.0);
            }
            Meaning::Tools | Meaning::Label => {}
            Meaning::NotCarriedOver(reason) => self.note(key, reason),
        }
        Ok(())
    }

    fn command(&mut self, entry: &Entry) -> Result<(), Problem> {
        match &entry.node.value {
            Value::List(_) => self.parts.words = self.texts(entry)?,
            // Zed's older form.
            Value::Map(inner) => {
                for inner in inner {
                    match inner.key.as_str() {
                        "path" => self.parts.words = vec![self.value(inner)?],
                        _ => self.key(inner)?,
                    }
                }
            }
            _ => self.parts.words = vec![self.value(entry)?],
        }
        Ok(())
    }

    fn transport(&mut self, entry: &Entry) -> Result<(), Problem> {
        if let Value::Map(_) = entry.node.value {
            return self.table(&entry.node);
        }
        let word = self.text(entry)?;
        match transport_word(&word) {
            Some(word) => {
                self.parts.word = Some(word);
                Ok(())
            }
            None => {
                let message = format!("the transport `{}` is not known", shown_text(&word, 60));
                Err(self.broken(
                    entry.node.start,
                    message,
                    "add the server with `pegboard add`",
                ))
            }
        }
    }

    fn request_options(&mut self, entry: &Entry) -> Result<(), Problem> {
        for inner in entry.node.entries() {
            match inner.key.as_str() {
                "headers" => {
                    let headers = self.pairs(inner)?;
                    self.parts.headers.extend(headers);
                }
                key => {
                    let key = format!("requestOptions.{key}");
                    self.note(&key, "Pegboard does not know this key");
                }
            }
        }
        Ok(())
    }

    fn env_names(
        &mut self,
        entry: &Entry,
        value: impl Fn(&str) -> ImportValue,
    ) -> Result<(), Problem> {
        let Value::List(items) = &entry.node.value else {
            return Err(self.wrong_kind(entry, "a list of names"));
        };
        for item in items.iter().take(MAX_PAIRS) {
            // Codex also accepts a table with `name`.
            let name = item.text().or_else(|| item.get("name")?.node.text());
            match name.filter(|name| is_name(name)) {
                Some(name) => self.parts.file_env.push((name.to_owned(), value(name))),
                None => return Err(self.wrong_kind(entry, "a list of names of variables")),
            }
        }
        Ok(())
    }

    fn header_variables(&mut self, entry: &Entry) -> Result<(), Problem> {
        for inner in entry.node.entries().iter().take(MAX_PAIRS) {
            let name = self.text(inner)?;
            if !is_name(&name) {
                return Err(self.wrong_kind(inner, "the name of a variable"));
            }
            let value = ImportValue::reference(format!("${{{name}}}"));
            self.parts.headers.push((inner.key.clone(), value));
        }
        Ok(())
    }

    fn env_file(&mut self, entry: &Entry) -> Result<(), Problem> {
        let value = self.value(entry)?;
        match read_env_file(&value, &self.context.variables) {
            Ok(pairs) => self.parts.file_env.extend(pairs),
            Err(reason) => self.note(&entry.key, reason),
        }
        Ok(())
    }

    fn text(&self, entry: &Entry) -> Result<String, Problem> {
        let text = entry.node.text().map(str::to_owned);
        text.ok_or_else(|| self.wrong_kind(entry, "a string"))
    }

    fn boolean(&self, entry: &Entry) -> Result<bool, Problem> {
        match entry.node.value {
            Value::Bool(value) => Ok(value),
            _ => Err(self.wrong_kind(entry, "true or false")),
        }
    }

    fn value(&mut self, entry: &Entry) -> Result<ImportValue, Problem> {
        let text = self.text(entry)?;
        Ok(self.translated(&text))
    }

    fn translated(&mut self, text: &str) -> ImportValue {
        let translated = self.context.variables.translate(text);
        self.notes.extend(translated.notes);
        translated.value
    }

    fn texts(&mut self, entry: &Entry) -> Result<Vec<ImportValue>, Problem> {
        let Value::List(items) = &entry.node.value else {
            return Err(self.wrong_kind(entry, "a list of strings"));
        };
        let texts: Option<Vec<String>> = items.iter().map(scalar).collect();
        let texts = texts.ok_or_else(|| self.wrong_kind(entry, "a list of strings"))?;
        Ok(texts.iter().map(|text| self.translated(text)).collect())
    }

    fn pairs(&mut self, entry: &Entry) -> Result<Vec<(String, ImportValue)>, Problem> {
        let Value::Map(entries) = &entry.node.value else {
            return Err(self.wrong_kind(entry, "a table of strings"));
        };
        if entries.len() > MAX_PAIRS {
            let message = format!("`{}` has more than {MAX_PAIRS} entries", entry.key);
            return Err(self.broken(
                entry.node.start,
                message,
                "fix the entry in the client's file",
            ));
        }
        let mut pairs = Vec::with_capacity(entries.len());
        for inner in entries {
            if inner.node.value == Value::Null {
                continue;
            }
            let Some(text) = scalar(&inner.node) else {
                return Err(self.wrong_kind(inner, "a string"));
            };
            pairs.push((inner.key.clone(), self.translated(&text)));
        }
        Ok(pairs)
    }

    fn timeout(&mut self, entry: &Entry, factor: f64) -> Option<Duration> {
        let number = match entry.node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) => number,
            _ => f64::NAN,
        };
        let ms = number * factor;
        // Pegboard's own limit of a duration is far above this one.
        if !(1.0..=86_400_000.0).contains(&ms) {
            self.note(
                &entry.key,
                "it is not a time between a millisecond and a day",
            );
            return None;
        }
        Some(Duration::from_millis(ms as u64))
    }

    /// Checks the transport and completes the draft.
    fn draft(mut self, rules: ToolRules) -> Result<Draft, Problem> {
        let parts = std::mem::take(&mut self.parts);
        let at = self.at;
        if parts.word == Some(TransportWord::Internal) {
            return Err(self.broken(
                at,
                "it is a part of the client, not an MCP server",
                "nothing to do",
            ));
        }
        let has_command = !parts.words.is_empty();
        let help = "fix the entry in the client's file";
        match (has_command, &parts.url) {
            (true, Some(_)) => Err(self.broken(at, "the entry has both a command and a URL", help)),
            (false, None) => {
                // What was left out may be the reason, such as `tcp`.
                let notes = self.notes.iter().map(|note| format!("; {note}"));
                let message = format!(
                    "the entry has neither a command nor a URL{}",
                    notes.collect::<String>()
                );
                Err(self.broken(at, message, help))
            }
            (true, None)
                if matches!(parts.word, Some(TransportWord::Http | TransportWord::Sse)) =>
            {
                Err(self.broken(at, "the entry's transport contradicts its command", help))
            }
            (false, Some(_)) if parts.word == Some(TransportWord::Stdio) => {
                Err(self.broken(at, "the entry's transport contradicts its URL", help))
            }
            (true, None) => self.stdio(parts, rules),
            (false, Some(_)) => self.http(parts, rules),
        }
    }

    fn stdio(mut self, parts: Parts, rules: ToolRules) -> Result<Draft, Problem> {
        let (words, split) = split_command_line(parts.words, &parts.args);
        if split {
            self.notes
                .push("the command line in one string is split into its words".to_owned());
        }
        let mut words = words.into_iter().chain(parts.args);
        let command = words.next().unwrap_or_default();
        let args: Vec<ImportValue> = words.collect();
        let is_project = self.context.scope == FileScope::Project;
        let command = match is_relative_program(command.start()) {
            true if is_project => in_project(command),
            true => {
                return Err(self.broken(
                    self.at,
                    "the program is a path relative to the client's folder, so any folder could provide it",
                    "add the server with the full path of its program",
                ));
            }
            false => command,
        };
        let (cwd, args) = self.working_dir(parts.cwd, &command, args);
        let mut before: Option<String> = None;
        let mut marked = Vec::with_capacity(args.len());
        for arg in args {
            let text = arg.plain();
            marked.push(mark_secrets(arg, SecretPlace::Argument(before.as_deref())));
            before = text;
        }
        // Variables of the entry override those of a file.
        let mut env = parts.env;
        for (name, value) in parts.file_env {
            if env.iter().all(|(known, _)| *known != name) {
                env.push((name, value));
            }
        }
        let bearer = [
            ("headers", !parts.headers.is_empty()),
            ("bearer", parts.bearer.is_some()),
        ];
        for (key, is_set) in bearer {
            if is_set {
                self.note(key, "it belongs to a URL");
            }
        }
        Ok(Draft {
            transport: DraftTransport::Stdio {
                command,
                args: marked,
                cwd,
            },
            env: named_secrets(env),
            headers: Vec::new(),
            bearer: None,
            is_enabled: parts.is_enabled.unwrap_or(true) && !parts.is_disabled.unwrap_or(false),
            description: parts.description,
            call_timeout: parts.call_timeout,
            discovery_timeout: parts.discovery_timeout,
            rules,
            notes: self.notes,
        })
    }

    /// Clients start servers in the project folder. Pegboard does that for a project's servers only, so the user's own
    /// servers with relative arguments get it as their working directory. A package runner must not run there, because
    /// the folder could provide the program; its arguments get the project folder instead.
    fn working_dir(
        &mut self,
        cwd: Option<ImportValue>,
        command: &ImportValue,
        args: Vec<ImportValue>,
    ) -> (Option<ImportValue>, Vec<ImportValue>) {
        let is_project = self.context.scope == FileScope::Project;
        let cwd = cwd.filter(|cwd| cwd.plain().as_deref() != Some(""));
        if let Some(cwd) = cwd {
            let is_absolute = cwd.starts_with_reference() || cwd.start().starts_with(['/', '~']);
            return match is_absolute {
                true => (Some(cwd), args),
                false => (Some(in_project(cwd)), args),
            };
        }
        let is_relative =
            |arg: &ImportValue| arg.plain().is_some_and(|text| is_relative_path(&text));
        if is_project || !args.iter().any(is_relative) {
            return (None, args);
        }
        let plain: Vec<String> = args
            .iter()
            .map(|arg| arg.plain().unwrap_or_default())
            .collect();
        let program = command.plain().unwrap_or_default();
        if dependent_runner(&program, &plain).is_none() {
            return (Some(ImportValue::reference(PROJECT_REFERENCE)), args);
        }
        let anchored = |arg: ImportValue| match is_relative(&arg) {
            true => anchored_argument(arg),
            false => arg,
        };
        (None, args.into_iter().map(anchored).collect())
    }

    fn http(mut self, parts: Parts, rules: ToolRules) -> Result<Draft, Problem> {
        let url = parts.url.unwrap_or_default();
        let text = url.start().to_ascii_lowercase();
        if text.starts_with("unix:") || text.starts_with("pipe:") {
            let message = "Pegboard does not connect to sockets and pipes";
            return Err(self.broken(self.at, message, "run the server over HTTP or as a program"));
        }
        if parts.word.is_none()
            && text
                .split(['?', '#'])
                .next()
                .unwrap_or_default()
                .ends_with("/sse")
        {
            self.notes.push(
                "the URL ends with `/sse`: if the server supports only HTTP+SSE, Pegboard cannot use it".to_owned(),
            );
        }
        let stdio = [
            ("cwd", parts.cwd.is_some()),
            ("env", !parts.env.is_empty()),
            ("args", !parts.args.is_empty()),
        ];
        for (key, is_set) in stdio {
            if is_set {
                self.note(key, "it belongs to a command");
            }
        }
        let mut headers = parts.headers;
        let mut bearer = parts
            .bearer
            .map(|value| mark_secrets(value, SecretPlace::Bearer));
        if let Some(name) = parts.bearer_variable {
            if !is_name(&name) {
                return Err(self.broken(
                    self.at,
                    "the variable of the token is not a valid name",
                    "fix the entry in the client's file",
                ));
            }
            let reference = ValuePart::Reference(format!("${{{name}}}"));
            let header = parts
                .bearer_header
                .unwrap_or_else(|| "Authorization".to_owned());
            let format = parts
                .bearer_format
                .unwrap_or_else(|| "Bearer {token}".to_owned());
            if header.eq_ignore_ascii_case("authorization") && format == "Bearer {token}" {
                bearer = Some(ImportValue(vec![reference]));
            } else {
                let (before, after) = format.split_once("{token}").unwrap_or(("", ""));
                let literal = |text: &str| ValuePart::Literal(text.to_owned());
                headers.push((
                    header,
                    ImportValue(vec![literal(before), reference, literal(after)]),
                ));
            }
        }
        Ok(Draft {
            transport: DraftTransport::Http {
                url: mark_secrets(url, SecretPlace::Url),
                is_sse: parts.word == Some(TransportWord::Sse),
            },
            env: Vec::new(),
            headers: named_secrets(headers),
            bearer,
            is_enabled: parts.is_enabled.unwrap_or(true) && !parts.is_disabled.unwrap_or(false),
            description: parts.description,
            call_timeout: parts.call_timeout,
            discovery_timeout: parts.discovery_timeout,
            rules,
            notes: self.notes,
        })
    }
}

/// Marks the secrets among named values. A name that occurs twice keeps its last value.
fn named_secrets(pairs: Vec<(String, ImportValue)>) -> Vec<(String, ImportValue)> {
    let mut named: Vec<(String, ImportValue)> = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        let value = mark_secrets(value, SecretPlace::Named(&name));
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => named.push((name, value)),
        }
    }
    named
}

/// Splits a command that contains a whole command line, as some clients accept it. Quotes are not interpreted, so such
/// a command is left as it is.
fn split_command_line(words: Vec<ImportValue>, args: &[ImportValue]) -> (Vec<ImportValue>, bool) {
    let line = match words.as_slice() {
        [only] if args.is_empty() => only.plain(),
        _ => None,
    };
    let Some(line) = line.filter(|line| !line.contains(['"', '\'', '\\'])) else {
        return (words, false);
    };
    let is_line =
        line.split_whitespace().count() > 1 && !line.starts_with('/') && !Path::new(&line).exists();
    match is_line {
        true => (
            line.split_whitespace().map(ImportValue::literal).collect(),
            true,
        ),
        false => (words, false),
    }
}

/// Returns the text of a string, number or boolean.
fn scalar(node: &Node) -> Option<String> {
    Some(match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        _ => return None,
    })
}

fn is_relative_program(start: &str) -> bool {
    start.contains('/') && !start.starts_with(['/', '~'])
}

/// Puts the project folder before a relative path.
fn in_project(value: ImportValue) -> ImportValue {
    let mut value = value;
    if let Some(ValuePart::Literal(text)) = value.0.first_mut() {
        let rest = text.strip_prefix("./").unwrap_or(text);
        *text = match rest {
            "" | "." => String::new(),
            rest => format!("/{rest}"),
        };
    }
    value.prefixed(ValuePart::Reference(PROJECT_REFERENCE.to_owned()))
}

/// Puts the project folder before the path in an argument, which may follow `--flag=`.
fn anchored_argument(arg: ImportValue) -> ImportValue {
    let text = arg.plain().unwrap_or_default();
    match text
        .split_once('=')
        .filter(|(flag, _)| flag.starts_with('-'))
    {
        Some((flag, path)) => {
            let flag = ValuePart::Literal(format!("{flag}="));
            in_project(ImportValue::literal(path)).prefixed(flag)
        }
        None => in_project(ImportValue::literal(text)),
    }
}
