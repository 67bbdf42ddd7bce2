//! Pegboard's own entry in a client's file.

use std::path::Path;

use pegboard_model::{Reason, Secret};
use serde_json::{Map, Value, json};

use super::launch::Launch;
use super::rewrite;
use super::table::{Client, ClientFile, Root, VariableSyntax};
use super::text::{ClientText, Container};
use crate::problem::Problem;

/// The name of Pegboard's entry: short, and without `_`, at which some clients split names.
pub const ENTRY_NAME: &str = "pegboard";

/// How a client reaches Pegboard.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EntryTransport {
    /// The client starts Pegboard.
    Stdio {
        /// The command.
        launch: Launch,
        /// The profile to serve.
        profile: Option<String>,
    },
    /// The client connects to a running Pegboard.
    Http {
        /// The URL, including the profile.
        url: String,
        /// The token, if one is required.
        token: Option<EntryToken>,
    },
}

/// The token of an entry with a URL.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EntryToken {
    /// The token itself is written.
    Value(Secret),
    /// A reference to an environment variable is written.
    Variable(String),
}

impl EntryTransport {
    /// The name of the transport.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }
}

impl Client {
    /// The file that `connect` writes if none of the client's files exists.
    pub fn target(&self) -> Option<&'static ClientFile> {
        self.files.iter().find(|file| file.is_target)
    }

    /// Returns what to paste into an empty file of this client, or `None` if it does not support the transport.
    pub fn snippet(&self, transport: &EntryTransport, approves_calls: bool) -> Option<String> {
        let file = self.target()?;
        let entry = entry(self, file.root, transport, approves_calls).ok()?;
        let empty = ClientText::parse(Path::new(""), b"", file.format).ok()?;
        let container = Container::new(file.root)?;
        let text = rewrite::insert(&empty, &container, ENTRY_NAME, &entry).ok()?;
        Some(text.source.text)
    }
}

/// The fields of Pegboard's entry in the notation of a client.
pub(crate) fn entry(
    client: &Client,
    root: Root,
    transport: &EntryTransport,
    approves_calls: bool,
) -> Result<Value, Problem> {
    let Some(form) = client.entry else {
        let message = format!("{} is only imported from", client.name);
        return Err(
            Problem::error(Reason::ConfigInvalid, message).help("add Pegboard to its file by hand")
        );
    };
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    if matches!(root, Root::List(_)) {
        put("name", ENTRY_NAME.into());
    }
    match transport {
        EntryTransport::Stdio { launch, profile } => {
            if let Some((key, value)) = form.stdio.transport {
                put(key, value.into());
            }
            let profile = profile.iter().flat_map(|name| ["--profile", name.as_str()]);
            let args = launch.args.iter().map(String::as_str);
            let args: Vec<&str> = args.chain(["stdio"]).chain(profile).collect();
            let command = launch.command.as_str();
            if form.stdio.is_list {
                let words: Vec<&str> = [command].into_iter().chain(args).collect();
                put(form.stdio.command, words.into());
            } else {
                put(form.stdio.command, command.into());
                put("args", args.into());
            }
            if !launch.env.is_empty() {
                put(form.stdio.env, json!(launch.env));
            }
        }
        EntryTransport::Http { url, token } => {
            let Some(http) = form.http else {
                let message = format!("{} supports no URL in its file", client.name);
                return Err(Problem::error(Reason::ConfigInvalid, message)
                    .help("connect it without `--http`, so that it starts Pegboard itself"));
            };
            if let Some((key, value)) = http.transport {
                put(key, value.into());
            }
            put(http.url, url.as_str().into());
            match (token, http.token_variable) {
                (None, _) => {}
                (Some(EntryToken::Variable(name)), Some(key)) => put(key, name.as_str().into()),
                (Some(EntryToken::Value(_)), Some(_)) => {
                    let message = format!("{} does not accept a token in its file", client.name);
                    let help = "name an environment variable that contains the token, with `--token-variable PEGBOARD_TOKEN`";
                    return Err(Problem::error(Reason::ConfigInvalid, message).help(help));
                }
                (Some(token), None) => {
                    let bearer = format!("Bearer {}", token_text(client, token)?);
                    put(http.headers, json!({"Authorization": bearer}));
                }
            }
        }
    }
    let approval = form.approval.filter(|_| approves_calls);
    let approval = approval.map(|approval| (approval.key, approval.value));
    for (key, value) in form.constants.iter().copied().chain(approval) {
        // The table's values are JSON; a test parses all of them.
        put(key, serde_json::from_str(value).unwrap_or_default());
    }
    Ok(Value::Object(fields))
}

fn token_text(client: &Client, token: &EntryToken) -> Result<String, Problem> {
    let name = match token {
        EntryToken::Value(token) => return Ok(token.reveal().to_owned()),
        EntryToken::Variable(name) => name,
    };
    Ok(match client.variables {
        VariableSyntax::Shell | VariableSyntax::BareShell | VariableSyntax::ShellOrEnv => {
            format!("${{{name}}}")
        }
        VariableSyntax::Editor => format!("${{env:{name}}}"),
        VariableSyntax::Braces => format!("{{env:{name}}}"),
        VariableSyntax::None | VariableSyntax::Secrets => {
            let message = format!("{} does not expand variables in its file", client.name);
            return Err(Problem::error(Reason::ConfigInvalid, message)
                .help("leave out `--token-variable`, so that the token itself is written"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::CLIENTS;

    fn stdio() -> EntryTransport {
        let launch = Launch {
            command: "/opt/peg board/pegboard".to_owned(),
            env: [("PEGBOARD_CONFIG_DIR".to_owned(), "/c".to_owned())].into(),
            ..Launch::default()
        };
        EntryTransport::Stdio {
            launch,
            profile: Some("work".to_owned()),
        }
    }

    fn http(token: EntryToken) -> EntryTransport {
        EntryTransport::Http {
            url: "http://127.0.0.1:7340/mcp".to_owned(),
            token: Some(token),
        }
    }

    #[test]
    fn r_cfg_07_every_client_gets_its_own_notation() {
        let mut shown = String::new();
        for client in CLIENTS.iter().filter(|client| client.entry.is_some()) {
            let stdio = client.snippet(&stdio(), true).unwrap();
            shown.push_str(&format!("== {}\n{stdio}", client.key));
            let value = http(EntryToken::Value(Secret::new("t0ken")));
            let variable = http(EntryToken::Variable("TOKEN".to_owned()));
            let url = client.snippet(&value, true);
            let url = url.or_else(|| client.snippet(&variable, true));
            shown.push_str(&url.unwrap_or_else(|| "no URL\n".to_owned()));
        }
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn r_cfg_07_a_variable_is_referred_to_in_the_clients_notation() {
        let of = |key: &str| {
            let client = crate::clients::client(key).unwrap();
            let variable = http(EntryToken::Variable("TOKEN".to_owned()));
            let entry = entry(client, client.files[0].root, &variable, true);
            entry.map(|entry| entry["headers"]["Authorization"].to_string())
        };
        assert_eq!(of("claude-code").unwrap(), r#""Bearer ${TOKEN}""#);
        assert_eq!(of("cursor").unwrap(), r#""Bearer ${env:TOKEN}""#);
        assert_eq!(of("opencode").unwrap(), r#""Bearer {env:TOKEN}""#);
        assert!(of("zed").is_err());
    }

    #[test]
    fn r_cfg_07_constants_of_the_table_are_json() {
        for client in CLIENTS {
            let Some(form) = client.entry else { continue };
            let approval = form.approval.map(|approval| (approval.key, approval.value));
            for (key, value) in form.constants.iter().copied().chain(approval) {
                let parsed: Result<Value, _> = serde_json::from_str(value);
                assert!(parsed.is_ok(), "{} {key}", client.key);
            }
        }
    }
}
