//! Configuration snippets for MCP clients: one table of clients, and the shapes of their files.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::add_server::shell_quoted;

/// Environment variables for a Pegboard that a client starts.
pub(crate) type Variables = BTreeMap<String, String>;

/// The placeholder for the token.
pub(crate) const TOKEN: &str = "YOUR_TOKEN";
/// The server name in client files: short, and without `_`, at which some clients split names.
const NAME: &str = "pegboard";

/// A client and its configuration file.
pub(crate) struct Client {
    /// The value in the page's query.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    /// The file to edit.
    pub(crate) file: &'static str,
    shape: Shape,
    /// A note for the user.
    pub(crate) note: Option<&'static str>,
}

/// The shape of a server entry in a client's file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `mcpServers`, with `type` and `url`.
    Typed,
    /// `mcpServers`, with `url` alone.
    Url,
    /// `mcpServers`, with `serverUrl`.
    ServerUrl,
    /// `mcpServers`, stdio servers only.
    StdioOnly,
    /// `servers`, with `type`.
    VsCode,
    /// `mcpServers`, with a list of tools.
    Copilot,
    Codex,
    Zed,
    OpenCode,
    Goose,
}

const fn client(key: &'static str, name: &'static str, file: &'static str, shape: Shape) -> Client {
    Client {
        key,
        name,
        file,
        shape,
        note: None,
    }
}

/// The supported clients.
pub(crate) const CLIENTS: &[Client] = &[
    Client {
        note: Some("Its own tool search would hide the meta tools; `alwaysLoad` prevents that."),
        ..client(
            "claude-code",
            "Claude Code",
            ".mcp.json in the project, or mcpServers in ~/.claude.json",
            Shape::Typed,
        )
    },
    Client {
        note: Some(
            "The file supports only local programs; add a URL as a connector in the app's settings.",
        ),
        ..client(
            "claude-desktop",
            "Claude Desktop",
            "claude_desktop_config.json (Settings › Developer › Edit Config)",
            Shape::StdioOnly,
        )
    },
    client(
        "cursor",
        "Cursor",
        "~/.cursor/mcp.json, or .cursor/mcp.json in the project",
        Shape::Url,
    ),
    client(
        "vscode",
        "VS Code",
        ".vscode/mcp.json, or “MCP: Open User Configuration”",
        Shape::VsCode,
    ),
    client(
        "copilot-cli",
        "Copilot CLI",
        "~/.copilot/mcp-config.json",
        Shape::Copilot,
    ),
    client(
        "windsurf",
        "Windsurf",
        "~/.codeium/windsurf/mcp_config.json",
        Shape::ServerUrl,
    ),
    Client {
        note: Some(
            "Codex needs the name of an environment variable that contains the token, not the token itself.",
        ),
        ..client("codex", "Codex", "~/.codex/config.toml", Shape::Codex)
    },
    client(
        "gemini",
        "Gemini CLI",
        "~/.gemini/settings.json, or .gemini/settings.json in the project",
        Shape::Typed,
    ),
    client("zed", "Zed", "~/.config/zed/settings.json", Shape::Zed),
    client(
        "opencode",
        "opencode",
        "~/.config/opencode/opencode.json",
        Shape::OpenCode,
    ),
    client(
        "goose",
        "Goose",
        "~/.config/goose/config.yaml",
        Shape::Goose,
    ),
    client("lm-studio", "LM Studio", "~/.lmstudio/mcp.json", Shape::Url),
    client(
        "other",
        "Other client",
        "its file of MCP servers",
        Shape::Typed,
    ),
];

impl Client {
    /// The snippet for a client that starts Pegboard itself.
    pub(crate) fn stdio_snippet(&self, command: &str, variables: &Variables) -> String {
        let with = |key: &str, mut entry: Value| {
            if let (false, Some(entry)) = (variables.is_empty(), entry.as_object_mut()) {
                entry.insert(key.to_owned(), json!(variables));
            }
            entry
        };
        let plain = || with("env", json!({"command": command, "args": ["stdio"]}));
        match self.shape {
            Shape::Typed | Shape::Url | Shape::ServerUrl | Shape::StdioOnly => {
                self.servers("mcpServers", self.marked(plain()))
            }
            Shape::VsCode => {
                let entry = json!({"type": "stdio", "command": command, "args": ["stdio"]});
                self.servers("servers", with("env", entry))
            }
            Shape::Copilot => {
                let entry =
                    json!({"type": "local", "command": command, "args": ["stdio"], "tools": ["*"]});
                self.servers("mcpServers", with("env", entry))
            }
            Shape::Codex => {
                let lines = lines_of(variables, |name, value| {
                    format!("{name} = {}\n", text(value))
                });
                let table = match lines.is_empty() {
                    true => String::new(),
                    false => format!("\n[mcp_servers.{NAME}.env]\n{lines}"),
                };
                let command = text(command);
                format!("[mcp_servers.{NAME}]\ncommand = {command}\nargs = [\"stdio\"]\n{table}")
            }
            Shape::Zed => self.servers("context_servers", plain()),
            Shape::OpenCode => {
                let entry =
                    json!({"type": "local", "command": [command, "stdio"], "enabled": true});
                self.servers("mcp", with("environment", entry))
            }
            Shape::Goose => {
                let lines = lines_of(variables, |name, value| {
                    format!("      {name}: {}\n", text(value))
                });
                let envs = match lines.is_empty() {
                    true => String::new(),
                    false => format!("    envs:\n{lines}"),
                };
                let command = text(command);
                format!(
                    "extensions:\n  {NAME}:\n    type: stdio\n    name: {NAME}\n    cmd: {command}\n    args: [stdio]\n{envs}    enabled: true\n"
                )
            }
        }
    }

    /// The snippet for a client that connects to this Pegboard; `None` if the client cannot.
    pub(crate) fn http_snippet(&self, url: &str, needs_token: bool) -> Option<String> {
        let bearer = format!("Bearer {TOKEN}");
        let with_headers = |mut entry: Value| {
            if let (true, Some(entry)) = (needs_token, entry.as_object_mut()) {
                entry.insert("headers".to_owned(), json!({"Authorization": bearer}));
            }
            entry
        };
        Some(match self.shape {
            Shape::StdioOnly => return None,
            Shape::Typed => {
                let entry = self.marked(json!({"type": "http", "url": url}));
                self.servers("mcpServers", with_headers(entry))
            }
            Shape::Url => self.servers("mcpServers", with_headers(json!({"url": url}))),
            Shape::ServerUrl => self.servers("mcpServers", with_headers(json!({"serverUrl": url}))),
            Shape::VsCode => {
                self.servers("servers", with_headers(json!({"type": "http", "url": url})))
            }
            Shape::Copilot => {
                let entry = json!({"type": "http", "url": url, "tools": ["*"]});
                self.servers("mcpServers", with_headers(entry))
            }
            Shape::Codex => {
                let token = match needs_token {
                    true => "bearer_token_env_var = \"PEGBOARD_TOKEN\"\n",
                    false => "",
                };
                format!("[mcp_servers.{NAME}]\nurl = {}\n{token}", text(url))
            }
            Shape::Zed => self.servers("context_servers", with_headers(json!({"url": url}))),
            Shape::OpenCode => {
                let entry = json!({"type": "remote", "url": url, "enabled": true});
                self.servers("mcp", with_headers(entry))
            }
            Shape::Goose => {
                let headers = match needs_token {
                    true => format!("    headers:\n      Authorization: {}\n", text(&bearer)),
                    false => String::new(),
                };
                format!(
                    "extensions:\n  {NAME}:\n    type: streamable_http\n    name: {NAME}\n    uri: {}\n{headers}    enabled: true\n",
                    text(url)
                )
            }
        })
    }

    /// The client's own command for the same, if it has one.
    pub(crate) fn cli_command(&self, command: &str, variables: &Variables) -> Option<String> {
        let command = shell_quoted(command);
        let options = |flag: &str| {
            lines_of(variables, |name, value| {
                format!("{flag} {} ", shell_quoted(&format!("{name}={value}")))
            })
        };
        match self.key {
            "claude-code" => Some(format!(
                "claude mcp add {}--scope user {NAME} -- {command} stdio",
                options("--env")
            )),
            "codex" => Some(format!(
                "codex mcp add {NAME} {}-- {command} stdio",
                options("--env")
            )),
            "gemini" => Some(format!(
                "gemini mcp add {}{NAME} {command} stdio",
                options("-e")
            )),
            _ => None,
        }
    }

    fn marked(&self, mut entry: Value) -> Value {
        if let (true, Some(entry)) = (self.key == "claude-code", entry.as_object_mut()) {
            entry.insert("alwaysLoad".to_owned(), json!(true));
        }
        entry
    }

    fn servers(&self, root: &str, entry: Value) -> String {
        let whole = json!({ root: { NAME: entry } });
        serde_json::to_string_pretty(&whole).unwrap_or_default()
    }
}

fn lines_of(variables: &Variables, line: impl Fn(&str, &str) -> String) -> String {
    let lines = variables.iter().map(|(name, value)| line(name, value));
    lines.collect()
}

/// A quoted string; TOML and YAML accept JSON strings.
fn text(text: &str) -> String {
    json!(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pasted_is_sound_in_its_language() {
        let url = "http://127.0.0.1:7340/mcp";
        for client in CLIENTS {
            let program = client.stdio_snippet(r"C:\my tools\pegboard.exe", &Variables::new());
            let address = client.http_snippet(url, true);
            match client.shape {
                Shape::Goose | Shape::Codex => {
                    assert!(
                        program.contains(r#""C:\\my tools\\pegboard.exe""#),
                        "{program}"
                    );
                }
                _ => {
                    let value: Value = serde_json::from_str(&program).unwrap();
                    assert!(value.to_string().contains("stdio"), "{program}");
                    if let Some(address) = &address {
                        let value: Value = serde_json::from_str(address).unwrap();
                        assert!(value.to_string().contains(TOKEN), "{address}");
                    }
                }
            }
            let open = client.http_snippet(url, false);
            assert!(open.is_none_or(|open| open.contains(url) && !open.contains(TOKEN)));
        }
    }

    #[test]
    fn r_ui_02_what_is_pasted_starts_the_same_pegboard() {
        let folder = "/srv/my config";
        let variables = Variables::from([("PEGBOARD_CONFIG_DIR".to_owned(), folder.to_owned())]);
        for client in CLIENTS {
            let program = client.stdio_snippet("pegboard", &variables);
            assert!(program.contains("PEGBOARD_CONFIG_DIR"), "{program}");
            assert!(program.contains(folder), "{program}");
            let line = client.cli_command("pegboard", &variables);
            let set = "'PEGBOARD_CONFIG_DIR=/srv/my config'";
            assert!(line.is_none_or(|line| line.contains(set)));
            let without = client.stdio_snippet("pegboard", &Variables::new());
            assert!(!without.contains("env"), "{without}");
        }
    }

    #[test]
    fn every_client_has_a_key_of_its_own() {
        let keys: std::collections::BTreeSet<_> = CLIENTS.iter().map(|client| client.key).collect();
        assert_eq!(keys.len(), CLIENTS.len());
    }
}
