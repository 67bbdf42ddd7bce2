//! Edits config files. Comments and order are preserved, files are replaced atomically, and concurrent edits of
//! several processes are serialized.

mod check;
mod json;
mod plan;
mod toml;
mod yaml;

use std::path::Path;
use std::time::Duration;

use pegboard_model::{Limits, Policy, Reason, ServerName};
use serde_json::Value;

use crate::atomic::{WriteLock, create_private_folder, mode_of, write_file_atomically};
use crate::file::{read_text, syntax_problem};
use crate::problem::{Problem, shown_path};
use crate::reader::ANNOTATIONS;
use crate::text::{Format, SourceText};
use plan::{EntryLocation, Step, find_server};

/// A server to write into a file. Values are written verbatim, so `${VAR}` stays a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewServer {
    /// Its name.
    pub name: ServerName,
    /// How to reach the server.
    pub transport: NewTransport,
    /// Whether an HTTP server speaks the old HTTP+SSE transport, so that it need not be detected.
    pub sse: bool,
    /// Environment variables of a stdio server.
    pub env: Vec<(String, String)>,
    /// Headers of an HTTP server.
    pub headers: Vec<(String, String)>,
    /// Bearer token of an HTTP server.
    pub bearer: Option<String>,
    /// Working directory of a stdio server.
    pub cwd: Option<String>,
    /// A description for the user.
    pub description: Option<String>,
    /// The category of its tools.
    pub category: Option<String>,
    /// Whether the server is enabled.
    pub enabled: bool,
    /// Time of one call.
    pub call_timeout: Option<Duration>,
    /// Time from the start to the last page of its tools.
    pub discovery_timeout: Option<Duration>,
    /// Policies by tool name or pattern.
    pub policies: Vec<(String, Policy)>,
    /// Tools that stay available although a pattern in `policies` disables them.
    pub available_tools: Vec<String>,
}

/// The transport of a new server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewTransport {
    /// A local program.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A server at a URL.
    Http {
        /// The server's URL.
        url: String,
    },
}

impl NewServer {
    /// Creates a server with a name and a transport.
    pub fn new(name: ServerName, transport: NewTransport) -> Self {
        Self {
            name,
            transport,
            sse: false,
            env: Vec::new(),
            headers: Vec::new(),
            bearer: None,
            cwd: None,
            description: None,
            category: None,
            enabled: true,
            call_timeout: None,
            discovery_timeout: None,
            policies: Vec::new(),
            available_tools: Vec::new(),
        }
    }

    fn fields(&self) -> Vec<(String, Value)> {
        let mut fields: Vec<(&str, Value)> = Vec::new();
        let text = |text: &Option<String>| text.clone().map(Value::from);
        match &self.transport {
            NewTransport::Stdio { command, args } => {
                fields.push(("command", command.clone().into()));
                if !args.is_empty() {
                    fields.push(("args", args.clone().into()));
                }
            }
            NewTransport::Http { url } => {
                fields.push(("url", url.clone().into()));
                if self.sse {
                    fields.push(("type", "sse".into()));
                }
            }
        }
        let pairs = |pairs: &[(String, String)]| {
            let map = pairs
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.clone())));
            (!pairs.is_empty()).then(|| Value::Object(map.collect()))
        };
        let duration = |time: Option<Duration>| {
            let ms = time?.as_millis();
            Some(Value::from(match ms % 1000 {
                0 => format!("{}s", ms / 1000),
                _ => format!("{ms}ms"),
            }))
        };
        let policies = self.policies.iter();
        let policies: serde_json::Map<_, _> = policies
            .map(|(pattern, policy)| (pattern.clone(), policy.as_str().into()))
            .collect();
        let tools = self.available_tools.iter();
        let tools: serde_json::Map<_, _> = tools
            .map(|tool| (tool.clone(), serde_json::json!({ "enabled": true })))
            .collect();
        let table = |map: serde_json::Map<String, Value>| (!map.is_empty()).then_some(map.into());
        let optional = [
            ("cwd", text(&self.cwd)),
            ("env", pairs(&self.env)),
            ("headers", pairs(&self.headers)),
            ("bearer", text(&self.bearer)),
            ("description", text(&self.description)),
            ("category", text(&self.category)),
            ("enabled", (!self.enabled).then_some(Value::Bool(false))),
            ("call_timeout", duration(self.call_timeout)),
            ("discovery_timeout", duration(self.discovery_timeout)),
            ("policies", table(policies)),
            ("tools", table(tools)),
        ];
        fields.extend(
            optional
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?))),
        );
        fields
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }
}

/// Adds a server to a file, which is created if it does not exist. `replace` permits replacing a server of the same
/// name.
///
/// # Errors
/// Like all edits, fails if the file cannot be read, parsed, edited safely or written, or if the server would be
/// invalid. Fails too if the server exists and `replace` is `false`.
pub fn add_server(file: &Path, server: &NewServer, replace: bool) -> Result<(), Problem> {
    edit(file, &server.name, |source, found| {
        let location = match found {
            Some(found) if replace => found,
            Some(found) => {
                let at = found.key_start(source);
                let message = "a server of this name already exists";
                return Err(Problem::error(Reason::ConfigDuplicate, message)
                    .help("choose another name, or replace it explicitly")
                    .at(source, at));
            }
            None => EntryLocation::new_in(source, &server.name),
        };
        Ok(vec![Step::Put {
            location,
            fields: server.fields(),
        }])
    })
}

/// Returns the text of a new TOML file with one server, or `None` if a value cannot be written.
pub(crate) fn new_server_text(server: &NewServer) -> Option<String> {
    let location = EntryLocation {
        root: "servers".to_owned(),
        key: server.name.to_string(),
    };
    let fields = server.fields();
    toml::apply("", &Step::Put { location, fields })
}

/// Adds several servers to a file in one edit: all of them, or none if one fails.
///
/// # Errors
/// Fails as [`add_server`] without `replace`.
pub fn add_servers(file: &Path, servers: &[NewServer]) -> Result<(), Problem> {
    edit_file(file, |source| {
        let mut steps = Vec::with_capacity(servers.len());
        for server in servers {
            if let Some(found) = find_server(source, &server.name)? {
                let at = found.key_start(source);
                let message = "a server of this name already exists";
                return Err(Problem::error(Reason::ConfigDuplicate, message)
                    .help("choose another name")
                    .of_server(server.name.as_str())
                    .at(source, at));
            }
            steps.push(Step::Put {
                location: EntryLocation::new_in(source, &server.name),
                fields: server.fields(),
            });
        }
        Ok(steps)
    })
    .map(drop)
}

/// Removes a server from a file.
///
/// # Errors
/// Fails as [`add_server`], or if the file does not define the server.
pub fn remove_server(file: &Path, name: &ServerName) -> Result<(), Problem> {
    edit(file, name, |_, found| {
        Ok(vec![Step::Remove {
            location: require(file, name, found)?,
        }])
    })
}

/// Enables or disables a server, with the key that the file already uses.
///
/// # Errors
/// Fails as [`remove_server`].
pub fn set_enabled(file: &Path, name: &ServerName, enabled: bool) -> Result<(), Problem> {
    edit(file, name, |source, found| {
        let location = require(file, name, found)?;
        let has = |key: &str| {
            location
                .node(source)
                .is_some_and(|server| server.get(key).is_some())
        };
        let set = |key: &str, value: bool| Step::Set {
            location: location.clone(),
            path: vec![key.to_owned()],
            value: Some(Value::Bool(value)),
        };
        let mut steps = Vec::new();
        if has("disabled") {
            steps.push(set("disabled", !enabled));
        }
        if has("enabled") || (!enabled && !has("disabled")) {
            steps.push(set("enabled", enabled));
        }
        Ok(steps)
    })
}

/// Sets several keys of a server, or none if one fails. `null` removes a key. Keys are not split at dots.
///
/// # Errors
/// Fails as [`remove_server`].
pub fn set_values(
    file: &Path,
    name: &ServerName,
    values: &serde_json::Map<String, Value>,
) -> Result<(), Problem> {
    edit(file, name, |_, found| {
        let location = require(file, name, found)?;
        let steps = values.iter().map(|(key, value)| Step::Set {
            location: location.clone(),
            path: vec![key.clone()],
            value: (!value.is_null()).then(|| value.clone()),
        });
        Ok(steps.collect())
    })
}

/// Sets one key of a server. Dots separate nested keys (`env.TOKEN`); `null` removes the key.
///
/// # Errors
/// Fails as [`remove_server`], or if `key` is malformed.
pub fn set_value(file: &Path, name: &ServerName, key: &str, value: &Value) -> Result<(), Problem> {
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        let message = format!(
            "`{}` is not a key",
            pegboard_model::UntrustedText::new(key).shortened(60)
        );
        return Err(Problem::error(Reason::ConfigInvalid, message)
            .help("write a key as `ttl` or `env.NAME`"));
    }
    edit(file, name, |_, found| {
        let location = require(file, name, found)?;
        let value = (!value.is_null()).then(|| value.clone());
        Ok(vec![Step::Set {
            location,
            path,
            value,
        }])
    })
}

/// Sets or removes a policy rule, in a server's table or in the global one. Returns whether the file has changed.
///
/// # Errors
/// Fails as [`remove_server`], or if `pattern` is not a valid pattern.
pub fn set_rule(
    file: &Path,
    server: Option<&ServerName>,
    pattern: &str,
    policy: Option<Policy>,
) -> Result<bool, Problem> {
    if pattern.is_empty() || pattern.contains(['\n', '\0']) {
        let message = "this is not a tool name or pattern";
        let help = "write `server/tool`, a pattern such as `delete_*`, or `@destructive`";
        return Err(Problem::error(Reason::ConfigInvalid, message).help(help));
    }
    if pattern.starts_with('@') && !ANNOTATIONS.contains(&pattern) {
        let shown = pegboard_model::UntrustedText::new(pattern).shortened(60);
        let message = format!("`{shown}` is not a tool annotation");
        let help = format!("write one of `{}`", ANNOTATIONS.join("`, `"));
        return Err(Problem::error(Reason::ConfigInvalid, message).help(help));
    }
    let value = policy.map(|policy| Value::from(policy.as_str()));
    let Some(name) = server else {
        let location = EntryLocation {
            root: "policies".to_owned(),
            key: pattern.to_owned(),
        };
        return edit_file(file, |source| {
            let is_there = location.entry(source).is_some();
            let wanted = value.is_some() || is_there;
            Ok(wanted
                .then_some(Step::Entry { location, value })
                .into_iter()
                .collect())
        });
    };
    let mut changed = false;
    edit(file, name, |source, found| {
        let location = require(file, name, found)?;
        let server = location.node(source);
        let has = |path: &[&str]| {
            let first = path.split_first();
            first.is_some_and(|(first, rest)| {
                let start = server.and_then(|server| server.get(first));
                rest.iter()
                    .fold(start, |at, key| at.and_then(|at| at.node.get(key)))
                    .is_some()
            })
        };
        // A tool's policy may be in either of two tables; it stays where it is.
        let tools = server.and_then(|server| server.get("tools"));
        let short = tools.and_then(|tools| tools.node.get(pattern)?.node.text());
        let in_tools = has(&["tools", pattern, "policy"]) || short.is_some();
        let in_policies = has(&["policies", pattern]);
        let set = |path: &[&str]| Step::Set {
            location: location.clone(),
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            value: value.clone(),
        };
        let mut steps = Vec::new();
        if short.is_some() {
            steps.push(set(&["tools", pattern]));
        } else if in_tools {
            steps.push(set(&["tools", pattern, "policy"]));
        }
        if in_policies || (value.is_some() && !in_tools) {
            steps.push(set(&["policies", pattern]));
        }
        changed = !steps.is_empty();
        Ok(steps)
    })
    .map(|()| changed)
}

/// Content of a TOML or YAML file after its last server was removed. JSON keeps its braces.
const EMPTY_FILE: &str = "# Pegboard configuration\n";

fn require(
    file: &Path,
    name: &ServerName,
    found: Option<EntryLocation>,
) -> Result<EntryLocation, Problem> {
    found.ok_or_else(|| {
        let message = format!("`{}` does not define the server `{name}`", shown_path(file));
        Problem::error(Reason::ServerUnknown, message).in_file(file)
    })
}

/// Edits the entry of one server.
fn edit(
    file: &Path,
    name: &ServerName,
    plan: impl FnOnce(&SourceText, Option<EntryLocation>) -> Result<Vec<Step>, Problem>,
) -> Result<(), Problem> {
    edit_file(file, |source| {
        let found = find_server(source, name)?;
        plan(source, found).map_err(|problem| problem.of_server(name.as_str()))
    })
    .map(drop)
}

/// Reads, edits, verifies and writes a file under a lock. Returns whether it has changed.
fn edit_file(
    file: &Path,
    plan: impl FnOnce(&SourceText) -> Result<Vec<Step>, Problem>,
) -> Result<bool, Problem> {
    // For a link, the target is replaced and the link stays.
    let file = &file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let failed = |error: std::io::Error| Problem::io(file, "write", &error);
    if let Some(folder) = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        create_private_folder(folder).map_err(failed)?;
    }
    let _lock = WriteLock::take(file).map_err(failed)?;
    let limits = Limits::default();
    let text = match file.try_exists() {
        Ok(false) => String::new(),
        _ => read_text(file, &limits)?,
    };
    let mut source = parsed(file, text.clone(), &limits)?;
    for step in plan(&source)? {
        let changed = match source.format {
            Format::Toml => toml::apply(&source.text, &step),
            Format::Json => json::apply(&source.text, &step),
            Format::Yaml => yaml::apply(&source, &step),
        };
        let changed = changed.ok_or_else(|| check::manual_edit_problem(&source, &step))?;
        let next = parsed(file, changed, &limits)
            .map_err(|_| check::manual_edit_problem(&source, &step))?;
        check::check_only_intended_change(&source, &next, &step)?;
        check::check_edited_server(&next, &step)?;
        source = next;
    }
    let mut new = with_form_of(&text, &source.text);
    if new.trim().is_empty() && !text.trim().is_empty() {
        // An empty file would look as if a program was about to write it; this one is intentionally empty.
        new = EMPTY_FILE.to_owned();
    }
    if new == text {
        return Ok(false);
    }
    write_file_atomically(file, new.as_bytes(), mode_of(file)).map_err(failed)?;
    Ok(true)
}

fn parsed(file: &Path, text: String, limits: &Limits) -> Result<SourceText, Problem> {
    let mut source = SourceText::new(file.to_owned(), text);
    match source.parse(limits) {
        Ok(()) => Ok(source),
        Err(error) => Err(syntax_problem(&source, error)),
    }
}

/// Applies the old text's byte order mark and line endings to the new text.
fn with_form_of(old: &str, new: &str) -> String {
    let breaks = old.matches('\n').count();
    let windows = breaks > 0 && old.matches("\r\n").count() == breaks;
    let mut text = if windows {
        new.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        new.to_owned()
    };
    if old.starts_with('\u{feff}') {
        text.insert(0, '\u{feff}');
    }
    text
}
