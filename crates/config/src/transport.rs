//! Reads a server's transport: `command` or `url`, and the keys that belong to each.

use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{HttpWire, Layer, Template, Transport, secret_arguments};

use crate::node::{Entry, Value};
use crate::problem::shown_text;
use crate::reader::TableReader;
use crate::sensitive::{has_written_secret, masked_name};
use crate::template_checks::{
    anchored, has_stored_secret, header_error, known_parts, known_start, url_error,
};
use crate::working_dir::UserServer;

/// The transport keys as written.
#[derive(Default)]
pub(crate) struct WrittenTransport<'n> {
    command: Option<&'n Entry>,
    args: Option<&'n Entry>,
    env: Option<&'n Entry>,
    cwd: Option<&'n Entry>,
    url: Option<&'n Entry>,
    headers: Option<&'n Entry>,
    bearer: Option<&'n Entry>,
    kind: Option<&'n Entry>,
}

impl<'n> WrittenTransport<'n> {
    /// Records a key.
    pub(crate) fn take(&mut self, entry: &'n Entry, reader: &mut TableReader<'_>) {
        let place = match entry.key.as_str() {
            "command" => &mut self.command,
            "args" => &mut self.args,
            "env" => &mut self.env,
            "cwd" => &mut self.cwd,
            "headers" => &mut self.headers,
            "bearer" => &mut self.bearer,
            "type" | "transport" => &mut self.kind,
            _ => &mut self.url,
        };
        match place {
            Some(first) if first.key != entry.key => {
                // Files for several programs contain the same value under each program's key.
                if !is_same(first, entry) {
                    let message =
                        format!("`{}` and `{}` contradict each other", first.key, entry.key);
                    reader.invalid(entry.key_start, message, "remove one of the two keys");
                }
            }
            _ => *place = Some(entry),
        }
    }

    /// Builds the transport from the recorded keys.
    pub(crate) fn check(self, server: &Entry, reader: &mut TableReader<'_>) -> Option<Transport> {
        let kind = match self.kind {
            Some(entry) => Some(transport_kind(entry, reader)?),
            None => None,
        };
        match (self.command, self.url) {
            (Some(command), None) if matches!(kind, None | Some("stdio")) => {
                self.stdio(command, reader)
            }
            (None, Some(url)) if kind != Some("stdio") => {
                let wire = match kind {
                    Some("sse") => HttpWire::Sse,
                    _ => HttpWire::Detect,
                };
                self.http(url, wire, reader)
            }
            (Some(_), Some(url)) => {
                let help = "keep `command` for a local server, or `url` for a remote one";
                reader.invalid(
                    url.key_start,
                    "the server has both `command` and `url`",
                    help,
                );
                None
            }
            (None, None) => {
                let help =
                    "write `command` and `args` for a local server, or `url` for a remote one";
                reader.invalid(
                    server.key_start,
                    "the server has neither `command` nor `url`",
                    help,
                );
                None
            }
            (command, url) => {
                let other = if command.is_some() {
                    "`command`"
                } else {
                    "`url`"
                };
                let at = command
                    .or(url)
                    .map_or(server.key_start, |entry| entry.key_start);
                let message = format!("the server's `type` contradicts {other}");
                reader.invalid(
                    at,
                    message,
                    "remove `type`; it follows from `command` or `url`",
                );
                None
            }
        }
    }

    fn stdio(&self, command: &Entry, reader: &mut TableReader<'_>) -> Option<Transport> {
        for entry in [self.headers, self.bearer].into_iter().flatten() {
            ignored(entry, "`url`", reader);
        }
        let env = self
            .env
            .map(|entry| reader.templates(entry))
            .unwrap_or_default();
        reader.own_env.clone_from(&env);
        let mut words = Vec::new();
        match &command.node.value {
            Value::List(items) => {
                words.extend(
                    items
                        .iter()
                        .filter_map(|item| reader.template("command", item)),
                );
            }
            _ => {
                words.extend(reader.template("command", &command.node));
                if let Some(program) = words.first() {
                    check_command_line(program, command, reader);
                }
            }
        }
        match self.args.map(|entry| (entry, &entry.node.value)) {
            Some((_, Value::List(items))) => {
                words.extend(
                    items
                        .iter()
                        .filter_map(|item| reader.template("args", item)),
                );
            }
            Some((entry, _)) => {
                let message = format!(
                    "`args` must be a list of strings, but it is {}",
                    entry.node.kind()
                );
                let help = reader.example("args", "[\"…\", \"…\"]");
                reader.invalid(entry.node.start, message, help);
            }
            None => {}
        }
        let mut words = words.into_iter();
        let program = match words.next() {
            Some(program) if !known_start(&program).is_empty() || has_stored_secret(&program) => {
                program
            }
            _ => {
                if !reader.failed() {
                    reader.invalid(
                        command.node.start,
                        "`command` is empty",
                        "name the program that runs the server",
                    );
                }
                return None;
            }
        };
        let args: Vec<Template> = words.collect();
        let cwd = self
            .cwd
            .and_then(|entry| reader.template("cwd", &entry.node));
        self.check_characters(&program, &args, &env, cwd.as_ref(), command, reader);
        let home = &reader.values.env.home;
        let program = anchored(program, reader.folder, home, |text| text.contains('/'));
        let cwd = cwd.map(|cwd| anchored(cwd, reader.folder, home, |_| true));
        if reader.layer != Layer::Project {
            let written = UserServer {
                program: &program,
                args: &args,
                cwd: cwd.as_ref(),
                command,
                args_entry: self.args,
                cwd_entry: self.cwd,
            };
            written.check(reader);
        }
        Some(Transport::Stdio {
            command: program,
            args,
            env,
            cwd,
        })
    }

    /// NUL cannot be passed to a process, and `=` cannot be part of a variable's name.
    fn check_characters(
        &self,
        program: &Template,
        args: &[Template],
        env: &BTreeMap<String, Template>,
        cwd: Option<&Template>,
        command: &Entry,
        reader: &mut TableReader<'_>,
    ) {
        let has_nul = |template: &Template| known_parts(template).any(|text| text.contains('\0'));
        let mut values = std::iter::once(program)
            .chain(args)
            .chain(env.values())
            .chain(cwd);
        if values.any(has_nul) {
            reader.invalid(
                command.key_start,
                "a value of the server contains a NUL character",
                "remove it",
            );
        }
        for name in env
            .keys()
            .filter(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            let at = self.env.and_then(|entry| entry.node.get(name));
            reader.invalid(
                at.map_or(command.key_start, |entry| entry.key_start),
                "a key of `env` is not a valid variable name",
                "write a name like `API_KEY`",
            );
        }
    }

    fn http(&self, url: &Entry, wire: HttpWire, reader: &mut TableReader<'_>) -> Option<Transport> {
        for entry in [self.args, self.env, self.cwd].into_iter().flatten() {
            ignored(entry, "`command`", reader);
        }
        let address = reader.template(&url.key, &url.node);
        if let Some(error) = address.as_ref().and_then(url_error) {
            let help = reader.example(&url.key, "\"https://example.com/mcp\"");
            reader.invalid(
                url.node.start,
                format!("`{}` is not a valid URL: {error}", url.key),
                help,
            );
        }
        let headers = self
            .headers
            .map(|entry| reader.templates(entry))
            .unwrap_or_default();
        let bearer = self
            .bearer
            .and_then(|entry| reader.template("bearer", &entry.node));
        for (name, value) in &headers {
            if let (Some(error), Some(entry)) = (header_error(name, value), self.headers) {
                let inner = entry.node.get(name);
                let at = inner.map_or(entry.node.start, |inner| inner.key_start);
                let name = inner.map(masked_name).unwrap_or_default();
                reader.invalid(
                    at,
                    format!("the header `{name}` cannot be sent: {error}"),
                    "fix the header",
                );
            }
        }
        if let (Some(value), Some(entry)) = (&bearer, self.bearer)
            && let Some(error) = header_error("Authorization", value)
        {
            let message = format!("`bearer` cannot be sent: {error}");
            reader.invalid(entry.node.start, message, "fix the token");
        }
        Some(Transport::Http {
            url: address?,
            headers,
            bearer,
            wire,
        })
    }
}

/// Reports a `command` that contains a whole command line. No shell splits it, so no such program would be found.
fn check_command_line(program: &Template, command: &Entry, reader: &mut TableReader<'_>) {
    let text = known_start(program);
    let mut words = text.split_whitespace();
    let (Some(first), Some(_)) = (words.next(), words.next()) else {
        return;
    };
    // The path of a program may contain spaces.
    let is_file = |name: &str| is_program(name, reader);
    if is_file(text) || (first.contains('/') && !is_file(first)) {
        return;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let secret = secret_arguments(words.iter().copied());
    let shown = words.iter().zip(secret).map(|(word, is_secret)| {
        let is_secret = is_secret || program.has_references() || has_written_secret(word);
        if is_secret { "…" } else { *word }
    });
    let shown: Vec<String> = shown
        .map(|word| serde_json::Value::from(shown_text(word, 60)).to_string())
        .collect();
    let (first, rest) = shown
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let format = reader.source.format;
    let help = format!(
        "write `{}` and `{}`",
        format.example("command", first),
        format.example("args", &format!("[{}]", rest.join(", ")))
    );
    let message = "`command` contains a whole command line, but it must be only the program";
    reader.invalid(command.node.start, message, help);
}

/// Whether a program exists at its path or in a folder of `PATH`.
fn is_program(name: &str, reader: &TableReader<'_>) -> bool {
    if name.contains('/') {
        let home = &reader.values.env.home;
        let path = anchored(Template::literal(name), reader.folder, home, |_| true);
        return Path::new(known_start(&path)).is_file();
    }
    let path = reader.values.env.var("PATH").unwrap_or_default();
    std::env::split_paths(path).any(|folder| folder.join(name).is_file())
}

/// Accepted words for a transport, with the transport that each means.
pub(crate) const TRANSPORT_WORDS: [(&str, &str); 6] = [
    ("stdio", "stdio"),
    ("http", "http"),
    ("streamable-http", "http"),
    ("streamableHttp", "http"),
    ("streamable_http", "http"),
    ("sse", "sse"),
];

fn is_same(one: &Entry, other: &Entry) -> bool {
    match (&one.node.value, &other.node.value) {
        (Value::Text(one), Value::Text(other)) => meaning(one) == meaning(other),
        (one, other) => one == other,
    }
}

fn meaning(text: &str) -> &str {
    let known = TRANSPORT_WORDS.iter().find(|(word, _)| *word == text);
    known.map_or(text, |(_, meaning)| meaning)
}

fn transport_kind(entry: &Entry, reader: &mut TableReader<'_>) -> Option<&'static str> {
    reader.choice(entry, &TRANSPORT_WORDS)
}

fn ignored(entry: &Entry, belongs_to: &str, reader: &mut TableReader<'_>) {
    let message = format!(
        "`{}` has no effect here; it belongs to {belongs_to}",
        entry.key
    );
    reader.warn(entry.key_start, message, "remove it");
}
