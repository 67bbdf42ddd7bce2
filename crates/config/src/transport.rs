//! How a server is reached: `command` or `url`, and what belongs to each.

use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{Layer, Reason, Template, Transport, secret_arguments};

use crate::known::{anchored, has_kept, header_flaw, known_parts, known_start, url_flaw};
use crate::node::{Entry, Value};
use crate::own_folder::OwnServer;
use crate::problem::{Severity, shown_text};
use crate::sensitive::{has_written_secret, shown_name};
use crate::typed::Typed;

/// The keys of a transport as they were read, before it is known which transport they make.
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
    /// Remembers a key.
    pub(crate) fn take(&mut self, entry: &'n Entry, typed: &mut Typed<'_>) {
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
                // Files written for several programs at once name the same thing by each one's key.
                if !is_same(first, entry) {
                    let message =
                        format!("`{}` and `{}` contradict each other", first.key, entry.key);
                    typed.invalid(entry.key_start, message, "remove one of the two keys");
                }
            }
            _ => *place = Some(entry),
        }
    }

    /// Makes the transport that the keys describe.
    pub(crate) fn check(self, server: &Entry, typed: &mut Typed<'_>) -> Option<Transport> {
        let kind = match self.kind {
            Some(entry) => Some(transport_kind(entry, typed)?),
            None => None,
        };
        match (self.command, self.url) {
            (Some(command), None) if kind != Some("http") => self.stdio(command, typed),
            (None, Some(url)) if kind != Some("stdio") => self.http(url, typed),
            (Some(_), Some(url)) => {
                let help = "keep `command` for a local server, or `url` for a remote one";
                typed.invalid(
                    url.key_start,
                    "the server has both `command` and `url`",
                    help,
                );
                None
            }
            (None, None) => {
                let help =
                    "write `command` and `args` for a local server, or `url` for a remote one";
                typed.invalid(
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
                let message = format!("the server's `type` does not go with {other}");
                typed.invalid(
                    at,
                    message,
                    "remove `type`; it follows from `command` or `url`",
                );
                None
            }
        }
    }

    fn stdio(&self, command: &Entry, typed: &mut Typed<'_>) -> Option<Transport> {
        for entry in [self.headers, self.bearer].into_iter().flatten() {
            ignored(entry, "`url`", typed);
        }
        let env = self
            .env
            .map(|entry| typed.templates(entry))
            .unwrap_or_default();
        typed.own_env.clone_from(&env);
        let mut words = Vec::new();
        match &command.node.value {
            Value::List(items) => {
                words.extend(
                    items
                        .iter()
                        .filter_map(|item| typed.template("command", item)),
                );
            }
            _ => {
                words.extend(typed.template("command", &command.node));
                if let Some(program) = words.first() {
                    check_command_line(program, command, typed);
                }
            }
        }
        match self.args.map(|entry| (entry, &entry.node.value)) {
            Some((_, Value::List(items))) => {
                words.extend(items.iter().filter_map(|item| typed.template("args", item)));
            }
            Some((entry, _)) => {
                let message = format!(
                    "`args` must be a list of texts, but it is {}",
                    entry.node.kind()
                );
                let help = typed.example("args", "[\"…\", \"…\"]");
                typed.invalid(entry.node.start, message, help);
            }
            None => {}
        }
        let mut words = words.into_iter();
        let program = match words.next() {
            Some(program) if !known_start(&program).is_empty() || has_kept(&program) => program,
            _ => {
                if !typed.failed() {
                    typed.invalid(
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
            .and_then(|entry| typed.template("cwd", &entry.node));
        self.check_characters(&program, &args, &env, cwd.as_ref(), command, typed);
        let home = &typed.values.env.home;
        let program = anchored(program, typed.folder, home, |text| text.contains('/'));
        let cwd = cwd.map(|cwd| anchored(cwd, typed.folder, home, |_| true));
        if typed.layer != Layer::Project {
            let written = OwnServer {
                program: &program,
                args: &args,
                cwd: cwd.as_ref(),
                command,
                args_entry: self.args,
                cwd_entry: self.cwd,
            };
            written.check(typed);
        }
        Some(Transport::Stdio {
            command: program,
            args,
            env,
            cwd,
        })
    }

    /// A NUL cannot be passed to a process, and a `=` cannot be in a variable's name.
    fn check_characters(
        &self,
        program: &Template,
        args: &[Template],
        env: &BTreeMap<String, Template>,
        cwd: Option<&Template>,
        command: &Entry,
        typed: &mut Typed<'_>,
    ) {
        let has_nul = |template: &Template| known_parts(template).any(|text| text.contains('\0'));
        let mut values = std::iter::once(program)
            .chain(args)
            .chain(env.values())
            .chain(cwd);
        if values.any(has_nul) {
            typed.invalid(
                command.key_start,
                "a value of the server holds a NUL character",
                "remove it",
            );
        }
        for name in env
            .keys()
            .filter(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            let at = self.env.and_then(|entry| entry.node.get(name));
            typed.invalid(
                at.map_or(command.key_start, |entry| entry.key_start),
                "a key of `env` is not the name of a variable",
                "write a name like `API_KEY`",
            );
        }
    }

    fn http(&self, url: &Entry, typed: &mut Typed<'_>) -> Option<Transport> {
        for entry in [self.args, self.env, self.cwd].into_iter().flatten() {
            ignored(entry, "`command`", typed);
        }
        let address = typed.template(&url.key, &url.node);
        if let Some(flaw) = address.as_ref().and_then(url_flaw) {
            let help = typed.example(&url.key, "\"https://example.com/mcp\"");
            typed.invalid(
                url.node.start,
                format!("`{}` is not an address: {flaw}", url.key),
                help,
            );
        }
        let headers = self
            .headers
            .map(|entry| typed.templates(entry))
            .unwrap_or_default();
        let bearer = self
            .bearer
            .and_then(|entry| typed.template("bearer", &entry.node));
        for (name, value) in &headers {
            if let (Some(flaw), Some(entry)) = (header_flaw(name, value), self.headers) {
                let inner = entry.node.get(name);
                let at = inner.map_or(entry.node.start, |inner| inner.key_start);
                let name = inner.map(shown_name).unwrap_or_default();
                typed.invalid(
                    at,
                    format!("the header `{name}` cannot be sent: {flaw}"),
                    "correct the header",
                );
            }
        }
        if let (Some(value), Some(entry)) = (&bearer, self.bearer)
            && let Some(flaw) = header_flaw("Authorization", value)
        {
            let message = format!("`bearer` cannot be sent: {flaw}");
            typed.invalid(entry.node.start, message, "correct the token");
        }
        Some(Transport::Http {
            url: address?,
            headers,
            bearer,
        })
    }
}

/// Reports a `command` that holds a whole command line: no shell splits it, so no such program would be found.
fn check_command_line(program: &Template, command: &Entry, typed: &mut Typed<'_>) {
    let text = known_start(program);
    let mut words = text.split_whitespace();
    let (Some(first), Some(_)) = (words.next(), words.next()) else {
        return;
    };
    // The name of a program, or of a folder on the way to it, may hold spaces.
    let is_file = |name: &str| is_program(name, typed);
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
    let format = typed.source.format;
    let help = format!(
        "write `{}` and `{}`",
        format.example("command", first),
        format.example("args", &format!("[{}]", rest.join(", ")))
    );
    let message = "`command` holds a whole command line, but it must name the program alone";
    typed.invalid(command.node.start, message, help);
}

/// Whether a program is there: at its path, or in a folder of `PATH`.
fn is_program(name: &str, typed: &Typed<'_>) -> bool {
    if name.contains('/') {
        let home = &typed.values.env.home;
        let path = anchored(Template::literal(name), typed.folder, home, |_| true);
        return Path::new(known_start(&path)).is_file();
    }
    let path = typed.values.env.var("PATH").unwrap_or_default();
    std::env::split_paths(path).any(|folder| folder.join(name).is_file())
}

/// `stdio` or `http`, however it was spelled.
/// The words for a way to reach a server, and what each means.
const KINDS: [(&str, &str); 5] = [
    ("stdio", "stdio"),
    ("http", "http"),
    ("streamable-http", "http"),
    ("streamableHttp", "http"),
    ("streamable_http", "http"),
];

fn is_same(one: &Entry, other: &Entry) -> bool {
    match (&one.node.value, &other.node.value) {
        (Value::Text(one), Value::Text(other)) => meaning(one) == meaning(other),
        (one, other) => one == other,
    }
}

fn meaning(text: &str) -> &str {
    let known = KINDS.iter().find(|(word, _)| *word == text);
    known.map_or(text, |(_, meaning)| meaning)
}

fn transport_kind(entry: &Entry, typed: &mut Typed<'_>) -> Option<&'static str> {
    if matches!(&entry.node.value, Value::Text(text) if text == "sse") {
        let help = "ask the server's maker for its Streamable HTTP address and write that as `url`, without `type`";
        typed.invalid(
            entry.node.start,
            "the HTTP+SSE transport is not supported",
            help,
        );
        return None;
    }
    typed.word(entry, &KINDS)
}

fn ignored(entry: &Entry, belongs_to: &str, typed: &mut Typed<'_>) {
    let message = format!(
        "`{}` has no effect here; it belongs to {belongs_to}",
        entry.key
    );
    typed.report(
        Severity::Warning,
        Reason::ConfigInvalid,
        entry.key_start,
        message,
        "remove it",
    );
}
