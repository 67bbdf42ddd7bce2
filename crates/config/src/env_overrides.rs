//! Environment variables that define or override servers: `NAME_MCP_URL`, `NAME_API_KEY`, `NAME_MCP_ENABLED`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pegboard_model::{
    Reason, Secret, ServerName, Template, TemplatePart, Transport, UntrustedText,
};

use crate::environment::Environment;
use crate::name::{NameCheck, check_name};
use crate::problem::Problem;
use crate::server::Definition;
use crate::settings::Settings;
use crate::template_checks::url_error;

const URL: &str = "_MCP_URL";
const KEY: &str = "_API_KEY";
const ENABLED: &str = "_MCP_ENABLED";

/// Whether any such variable is set. In most environments none is.
pub(crate) fn has_env_overrides(env: &Environment) -> bool {
    let suffixes = [URL, KEY, ENABLED];
    env.vars
        .keys()
        .any(|name| suffixes.iter().any(|suffix| name.ends_with(suffix)))
}

/// Returns the names of the variables that can change a server.
pub(crate) fn override_names(server: &str) -> [String; 3] {
    let prefix = server.to_ascii_uppercase();
    [URL, KEY, ENABLED].map(|suffix| format!("{prefix}{suffix}"))
}

/// A server key that an environment variable has set.
pub(crate) struct EnvOverride {
    pub(crate) key: String,
    pub(crate) shown: String,
    /// The variable's name. Trust reviews show it, because the project's file does not contain it.
    pub(crate) variable: String,
}

/// Applies the variables that start with the server's name, and returns the keys that were set.
pub(crate) fn apply_env_overrides(
    name: &str,
    definition: &mut Definition,
    env: &Environment,
    problems: &mut Vec<Problem>,
) -> Vec<EnvOverride> {
    let mut changed = Vec::new();
    let prefix = name.to_ascii_uppercase();
    let mut variable = prefix.clone();
    let mut lookup = |suffix: &str| {
        variable.truncate(prefix.len());
        variable.push_str(suffix);
        env.var(&variable).map(|value| (variable.clone(), value))
    };
    if let Some((variable, value)) = lookup(URL) {
        let url = from_variable(&variable, value);
        match url_error(&url) {
            Some(error) => problems.push(bad_variable(
                name,
                &variable,
                error,
                "write a URL such as `https://example.com/mcp`",
            )),
            None => {
                changed.push(EnvOverride {
                    key: "url".to_owned(),
                    shown: format!("${{{variable}}}"),
                    variable,
                });
                replace_url(&mut definition.transport, url);
            }
        }
    }
    if let Some((variable, value)) = lookup(KEY) {
        let key = from_variable(&variable, value);
        let shown = format!("${{{variable}}}");
        match &mut definition.transport {
            Transport::Http { bearer, .. } => {
                *bearer = Some(key);
                changed.push(EnvOverride {
                    key: "bearer".to_owned(),
                    shown,
                    variable,
                });
            }
            Transport::Stdio { env, .. } => {
                let env_overrides = EnvOverride {
                    key: format!("env.{variable}"),
                    shown,
                    variable: variable.clone(),
                };
                // A value in the file takes precedence.
                if let Entry::Vacant(place) = env.entry(variable) {
                    place.insert(key);
                    changed.push(env_overrides);
                }
            }
        }
    }
    if let Some((variable, value)) = lookup(ENABLED) {
        match parse_bool(value) {
            Some(enabled) => {
                definition.options.enabled = enabled;
                changed.push(EnvOverride {
                    key: "enabled".to_owned(),
                    shown: enabled.to_string(),
                    variable,
                });
            }
            None => problems.push(bad_variable(
                name,
                &variable,
                "it is neither true nor false",
                "set it to `true` or `false`",
            )),
        }
    }
    changed
}

/// Servers that are defined only by the environment.
pub(crate) fn servers_from_environment(
    known: impl Fn(&str) -> bool,
    settings: &Settings,
    env: &Environment,
    problems: &mut Vec<Problem>,
) -> Vec<(ServerName, Definition)> {
    let mut servers = Vec::new();
    for (variable, value) in &env.vars {
        let Some(prefix) = variable.strip_suffix(URL) else {
            continue;
        };
        let upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        if prefix == "PEGBOARD"
            || prefix.starts_with("PEGBOARD_")
            || value.is_empty()
            || !prefix.bytes().all(upper)
        {
            continue;
        }
        let name = prefix.to_ascii_lowercase();
        if known(&name) {
            continue;
        }
        match check_name(&name, false) {
            NameCheck::Valid(name) => {
                let url = from_variable(variable, value);
                if let Some(error) = url_error(&url) {
                    let help = "write a URL such as `https://example.com/mcp`";
                    problems.push(bad_variable(name.as_str(), variable, error, help));
                    continue;
                }
                let transport = Transport::Http {
                    url,
                    headers: BTreeMap::new(),
                    bearer: None,
                    wire: Default::default(),
                };
                servers.push((name, Definition::plain(transport, settings)));
            }
            NameCheck::Corrected(_) => {}
            NameCheck::Invalid { reason, why, .. } => {
                let shown = UntrustedText::new(variable).shortened(80).to_string();
                let message = format!("the variable `{shown}` does not define a server: {why}");
                problems
                    .push(Problem::warning(reason, message).help("rename or unset the variable"));
            }
        }
    }
    servers
}

/// Wraps a variable's value in a template that displays only the variable's name.
fn from_variable(variable: &str, value: &str) -> Template {
    Template::new(
        format!("${{{variable}}}"),
        vec![TemplatePart::Resolved(Secret::new(value))],
    )
}

fn replace_url(transport: &mut Transport, new: Template) {
    match transport {
        Transport::Http { url, .. } => *url = new,
        Transport::Stdio { .. } => {
            *transport = Transport::Http {
                url: new,
                headers: BTreeMap::new(),
                bearer: None,
                wire: Default::default(),
            };
        }
    }
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn bad_variable(server: &str, variable: &str, error: &str, help: &str) -> Problem {
    let message = format!("the variable `{variable}` is ignored: {error}");
    Problem::warning(Reason::ConfigInvalid, message)
        .help(help)
        .of_server(server)
}
