//! A server from a client's file, translated but not yet named.

use std::time::Duration;

use pegboard_model::{Secret, ServerName, Template, Transport};

use super::tool_rules::ToolRules;
use super::value::{ImportValue, SecretForm, ValuePart};
use crate::edit::{NewServer, NewTransport};
use crate::problem::shown_text;
use crate::sensitive::has_written_secret;
use crate::template::masked;

/// Maximum number of characters of a name or value in a preview.
const SHOWN_CHARACTERS: usize = 500;

/// A translated server. `Debug` prints no values.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) transport: DraftTransport,
    /// In the order of the file.
    pub(super) env: Vec<(String, ImportValue)>,
    pub(super) headers: Vec<(String, ImportValue)>,
    pub(super) bearer: Option<ImportValue>,
    pub(super) is_enabled: bool,
    pub(super) description: Option<String>,
    pub(super) call_timeout: Option<Duration>,
    pub(super) discovery_timeout: Option<Duration>,
    pub(super) rules: ToolRules,
    /// What is not carried over, with the reason.
    pub(super) notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) enum DraftTransport {
    Stdio {
        command: ImportValue,
        args: Vec<ImportValue>,
        cwd: Option<ImportValue>,
    },
    Http {
        url: ImportValue,
        /// The client's file names the HTTP+SSE transport.
        is_sse: bool,
    },
}

impl Draft {
    /// Returns every value with its place, such as `env.TOKEN` or `args`.
    pub(super) fn values(&self) -> Vec<(String, &ImportValue)> {
        let mut values: Vec<(String, &ImportValue)> = Vec::new();
        match &self.transport {
            DraftTransport::Stdio { command, args, cwd } => {
                values.push(("command".to_owned(), command));
                values.extend(args.iter().map(|arg| ("args".to_owned(), arg)));
                values.extend(cwd.iter().map(|cwd| ("cwd".to_owned(), cwd)));
            }
            DraftTransport::Http { url, .. } => values.push(("url".to_owned(), url)),
        }
        let named = |root: &str, pairs: &'_ [(String, ImportValue)]| -> Vec<String> {
            pairs
                .iter()
                .map(|(key, _)| format!("{root}.{}", crate::problem::shown_text(key, 60)))
                .collect()
        };
        let env = named("env", &self.env)
            .into_iter()
            .zip(self.env.iter().map(|(_, value)| value));
        values.extend(env);
        let headers = named("headers", &self.headers)
            .into_iter()
            .zip(self.headers.iter().map(|(_, value)| value));
        values.extend(headers);
        values.extend(self.bearer.iter().map(|value| ("bearer".to_owned(), value)));
        values
    }

    /// Returns the secrets with their places and hints.
    pub(super) fn secrets(&self) -> Vec<(String, &Secret, &str)> {
        let mut secrets = Vec::new();
        for (place, value) in self.values() {
            for part in &value.0 {
                if let ValuePart::Secret { value, hint } = part {
                    secrets.push((place.clone(), value, hint.as_str()));
                }
            }
        }
        secrets
    }

    /// Returns the values that only the user knows: place, name, and what is asked for.
    pub(super) fn prompts(&self) -> Vec<(String, &str, &str)> {
        let mut prompts = Vec::new();
        for (place, value) in self.values() {
            for part in &value.0 {
                if let ValuePart::Prompt { name, from } = part {
                    prompts.push((place.clone(), name.as_str(), from.as_str()));
                }
            }
        }
        prompts
    }

    /// Returns the server as it is written. `None` if a value cannot be written in Pegboard's notation.
    pub(super) fn server(&self, name: ServerName, form: &SecretForm<'_>) -> Option<NewServer> {
        let pairs = |pairs: &[(String, ImportValue)]| -> Option<Vec<(String, String)>> {
            let written = pairs
                .iter()
                .map(|(key, value)| Some((key.clone(), value.written(form)?)));
            written.collect()
        };
        let written = |value: &Option<ImportValue>| match value {
            Some(value) => value.written(form).map(Some),
            None => Some(None),
        };
        let (transport, cwd) = match &self.transport {
            DraftTransport::Stdio { command, args, cwd } => {
                let args: Option<Vec<String>> = args.iter().map(|arg| arg.written(form)).collect();
                let command = command.written(form)?;
                (
                    NewTransport::Stdio {
                        command,
                        args: args?,
                    },
                    written(cwd)?,
                )
            }
            DraftTransport::Http { url, .. } => (
                NewTransport::Http {
                    url: url.written(form)?,
                },
                None,
            ),
        };
        let is_sse = matches!(self.transport, DraftTransport::Http { is_sse: true, .. });
        Some(NewServer {
            sse: is_sse,
            env: pairs(&self.env)?,
            headers: pairs(&self.headers)?,
            bearer: written(&self.bearer)?,
            cwd,
            description: self.description.clone(),
            enabled: self.is_enabled,
            call_timeout: self.call_timeout,
            discovery_timeout: self.discovery_timeout,
            policies: self.rules.policies.clone(),
            available_tools: self.rules.available.clone(),
            ..NewServer::new(name, transport)
        })
    }
}

/// Returns everything else that determines what a server runs and receives, one line each.
pub(super) fn shown_settings(server: &NewServer) -> Vec<String> {
    let sse = "sse".to_owned();
    let kind = server.sse.then(|| ("type".to_owned(), &sse));
    let cwd = server.cwd.iter().map(|cwd| ("cwd".to_owned(), cwd));
    let env = server
        .env
        .iter()
        .map(|(name, value)| (format!("env.{name}"), value));
    let headers = server.headers.iter();
    let headers = headers.map(|(name, value)| (format!("headers.{name}"), value));
    let bearer = server
        .bearer
        .iter()
        .map(|value| ("bearer".to_owned(), value));
    let all = kind
        .into_iter()
        .chain(cwd)
        .chain(env)
        .chain(headers)
        .chain(bearer);
    let line = |(key, value): (String, &String)| {
        let key = shown_text(&key, SHOWN_CHARACTERS).into_owned();
        let value = match has_written_secret(value) {
            true => masked(value).into(),
            false => shown_text(value, SHOWN_CHARACTERS),
        };
        format!("{key} = {value}")
    };
    all.map(line).collect()
}

/// Returns the command line or URL of a server with everything masked that may be a secret.
pub(super) fn masked_definition(server: &NewServer) -> String {
    let transport = match &server.transport {
        NewTransport::Stdio { command, args } => Transport::Stdio {
            command: Template::literal(command),
            args: args.iter().map(Template::literal).collect(),
            env: Default::default(),
            cwd: None,
        },
        NewTransport::Http { url } => Transport::Http {
            url: Template::literal(url),
            headers: Default::default(),
            bearer: None,
            wire: Default::default(),
        },
    };
    crate::command_line::masked_command_line(&transport)
}
