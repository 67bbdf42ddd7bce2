//! Configuration snippets for MCP clients, from the table of clients in `pegboard-config`.

use std::collections::BTreeMap;

use pegboard_config::clients::{
    CLIENTS, Client, EntryToken, EntryTransport, FileScope, Launch, Location, client,
};
use pegboard_model::Secret;

use super::add_server::shell_quoted;

/// Environment variables for a Pegboard that a client starts.
pub(crate) type Variables = BTreeMap<String, String>;

/// The placeholder for the token.
pub(crate) const TOKEN: &str = "YOUR_TOKEN";
/// The variable for clients that accept only the name of one.
const TOKEN_VARIABLE: &str = "PEGBOARD_TOKEN";

/// A tab of the page: a client, or any other client with the most common notation.
#[derive(Clone, Copy)]
pub(crate) struct ClientTab {
    /// The value in the page's query.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    /// A note for the user.
    pub(crate) note: Option<&'static str>,
    /// The client whose notation is used.
    form: &'static Client,
    is_known: bool,
}

/// The tabs: every client that can be connected, and one for others.
pub(crate) fn client_tabs() -> Vec<ClientTab> {
    let tab = |form: &'static Client| ClientTab {
        key: form.key,
        name: form.name,
        note: form.note,
        form,
        is_known: true,
    };
    let known = CLIENTS.iter().filter(|client| client.entry.is_some());
    // `mcpServers` with `type` for URLs, as most clients have it.
    let other = client("gemini").map(|form| ClientTab {
        key: "other",
        name: "Other client",
        note: None,
        form,
        is_known: false,
    });
    known.map(tab).chain(other).collect()
}

impl ClientTab {
    /// The file to edit.
    pub(crate) fn file(&self) -> String {
        if !self.is_known {
            return "its file of MCP servers".to_owned();
        }
        let files = self.form.files.iter();
        let user = files.clone().find(|file| file.is_target);
        let project = files
            .filter(|file| file.scope == FileScope::Project)
            .find_map(|file| match file.linux {
                Location::Project(path) if !path.contains('*') => Some(path),
                _ => None,
            });
        let user = user.map_or_else(String::new, |file| {
            let location = file.macos.filter(|_| cfg!(target_os = "macos"));
            shown_location(location.unwrap_or(file.linux))
        });
        match project {
            Some(project) => format!("{user}, or {project} in the project"),
            None => user,
        }
    }

    /// The snippet for a client that starts Pegboard itself.
    pub(crate) fn stdio_snippet(&self, command: &str, variables: &Variables) -> String {
        let mut launch = Launch::default();
        launch.command = command.to_owned();
        launch.env.clone_from(variables);
        let transport = EntryTransport::Stdio {
            launch,
            profile: None,
        };
        self.form.snippet(&transport, true).unwrap_or_default()
    }

    /// The snippet for a client that connects to this Pegboard; `None` if the client cannot.
    pub(crate) fn http_snippet(&self, url: &str, needs_token: bool) -> Option<String> {
        let http = self.form.entry?.http?;
        let token = needs_token.then(|| match http.token_variable {
            Some(_) => EntryToken::Variable(TOKEN_VARIABLE.to_owned()),
            None => EntryToken::Value(Secret::new(TOKEN)),
        });
        let transport = EntryTransport::Http {
            url: url.to_owned(),
            token,
        };
        self.form.snippet(&transport, true)
    }

    /// Whether the client accepts only the name of a variable that contains the token.
    pub(crate) fn needs_token_variable(&self) -> bool {
        let http = self.form.entry.and_then(|form| form.http);
        http.is_some_and(|http| http.token_variable.is_some())
    }

    /// The command that writes the client's file.
    pub(crate) fn connect_command(&self, command: &str, variables: &Variables) -> Option<String> {
        let set = variables
            .iter()
            .map(|(name, value)| format!("{} ", shell_quoted(&format!("{name}={value}"))));
        let set: String = set.collect();
        let env = if set.is_empty() { "" } else { "env " };
        let command = shell_quoted(command);
        self.is_known
            .then(|| format!("{env}{set}{command} connect {}", self.key))
    }
}

fn shown_location(location: Location) -> String {
    match location {
        Location::Home(path) => format!("~/{path}"),
        Location::Config(path) => format!("~/.config/{path}"),
        Location::ApplicationSupport(path) => format!("~/Library/Application Support/{path}"),
        Location::Variable(_, "", path) => format!("~/{path}"),
        Location::Variable(_, folder, path) => format!("~/{folder}/{path}"),
        Location::FileVariable(name) => format!("the file that {name} names"),
        Location::Project(path) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pegboard_config::clients::FileFormat;
    use serde_json::Value;

    use super::*;

    #[test]
    fn pasted_client_entries_are_valid_in_their_format() {
        let url = "http://127.0.0.1:7340/mcp";
        for client in client_tabs() {
            let program = client.stdio_snippet(r"C:\my tools\pegboard.exe", &Variables::new());
            let address = client.http_snippet(url, true);
            match client.form.target().map(|file| file.format) {
                Some(FileFormat::Json) => {
                    let value: Value = serde_json::from_str(&program).unwrap();
                    assert!(value.to_string().contains("stdio"), "{program}");
                    if let Some(address) = &address {
                        let value: Value = serde_json::from_str(address).unwrap();
                        assert!(value.to_string().contains(TOKEN), "{address}");
                    }
                }
                _ => {
                    assert!(
                        program.contains(r#""C:\\my tools\\pegboard.exe""#),
                        "{program}"
                    );
                }
            }
            let open = client.http_snippet(url, false);
            assert!(open.is_none_or(|open| open.contains(url) && !open.contains(TOKEN)));
            assert!(!client.file().is_empty(), "{}", client.key);
        }
    }

    #[test]
    fn r_ui_02_pasted_client_entries_start_the_same_pegboard() {
        let folder = "/srv/my config";
        let variables = Variables::from([("PEGBOARD_CONFIG_DIR".to_owned(), folder.to_owned())]);
        for client in client_tabs() {
            let program = client.stdio_snippet("pegboard", &variables);
            assert!(program.contains("PEGBOARD_CONFIG_DIR"), "{program}");
            assert!(program.contains(folder), "{program}");
            let line = client.connect_command("pegboard", &variables);
            let set = "env 'PEGBOARD_CONFIG_DIR=/srv/my config' pegboard connect ";
            assert!(line.is_none_or(|line| line.starts_with(set)));
            let without = client.stdio_snippet("pegboard", &Variables::new());
            assert!(!without.contains("env"), "{without}");
        }
    }

    #[test]
    fn every_client_has_a_key_of_its_own() {
        let tabs = client_tabs();
        let keys: std::collections::BTreeSet<_> = tabs.iter().map(|client| client.key).collect();
        assert_eq!(keys.len(), tabs.len());
        assert!(tabs.len() > 20 && keys.contains("other"));
    }
}
