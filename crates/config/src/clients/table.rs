//! The table of clients.
//!
//! Sources are the clients' own source code and documentation. Only Linux and macOS are listed, because Pegboard does
//! not run on Windows.

use serde::Serialize;

use Location as At;
use Root::{List, PerProject, Table};

/// An MCP client, its files and its notation for servers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Client {
    /// The name on the command line and in URLs, for example `claude-code`.
    pub key: &'static str,
    /// The name for people, for example `Claude Code`.
    pub name: &'static str,
    /// The files, in the client's own order of precedence: the first one that defines a server wins.
    pub files: &'static [ClientFile],
    /// How to write Pegboard's entry; `None` if a client is only imported from.
    pub entry: Option<EntryForm>,
    /// The notation of variables in values.
    pub variables: VariableSyntax,
    /// The unit of `timeout`.
    pub timeout: TimeoutUnit,
    /// The keys of its lists of tools.
    pub tool_lists: ToolLists,
    /// Its lists outside of the servers' entries.
    pub file_lists: &'static [FileList],
    /// What a user of this client should know when connecting it.
    pub note: Option<&'static str>,
}

/// A file in which a client keeps servers.
#[derive(Debug)]
#[non_exhaustive]
pub struct ClientFile {
    /// Whether the file is the user's or a project's.
    pub scope: FileScope,
    /// The path on Linux and on macOS. A `*` as file name stands for every file with the same extension.
    pub linux: Location,
    /// The path on macOS, if it differs from Linux.
    pub macos: Option<Location>,
    /// The language of the file.
    pub format: FileFormat,
    /// Where the servers are in the file.
    pub root: Root,
    /// Whether `connect` writes to this file, if it exists or if no other file of the client does.
    pub is_target: bool,
}

/// Whose servers a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileScope {
    /// The user's, in every folder.
    User,
    /// Those of the project in the current folder. They are untrusted until the user has reviewed them.
    Project,
}

/// A path relative to a folder that depends on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the home folder.
    Home(&'static str),
    /// In `XDG_CONFIG_HOME`, by default `~/.config`.
    Config(&'static str),
    /// In `~/Library/Application Support` of macOS.
    ApplicationSupport(&'static str),
    /// In the folder of a variable, or in this folder below the home folder if it is not set.
    Variable(&'static str, &'static str, &'static str),
    /// The file that a variable names. Without the variable there is no such file.
    FileVariable(&'static str),
    /// In the project folder.
    Project(&'static str),
}

/// The language of a file. Comments and trailing commas in JSON are accepted and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// JSON, with comments where the client accepts them.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Where the servers are in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// A table by server name, below these keys.
    Table(&'static [&'static str]),
    /// A list of entries with a `name`, below these keys.
    List(&'static [&'static str]),
    /// A table below the entry of the current project, as in `projects["/path"].mcpServers`: the key before, and the
    /// key after.
    PerProject(&'static str, &'static str),
}

/// How a client writes references to variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSyntax {
    /// No expansion: a `$` is a `$`.
    None,
    /// `${VAR}` and `${VAR:-default}`.
    Shell,
    /// `$VAR` and `${VAR}`.
    BareShell,
    /// `${env:VAR}`, `${userHome}`, `${workspaceFolder}`, `${input:ID}` and `${file:PATH}`.
    Editor,
    /// `{env:VAR}` and `{file:PATH}`.
    Braces,
    /// `${{ secrets.NAME }}`.
    Secrets,
    /// `${VAR}`, `${VAR:-default}` and `$env:VAR`.
    ShellOrEnv,
}

/// The unit of a number as `timeout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// The number is not the time of a call.
    NotOfCalls,
}

/// Keys of a server's entry with lists of tool names.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolLists {
    /// Only these tools are available.
    pub allow: &'static [&'static str],
    /// These tools are not available.
    pub deny: &'static [&'static str],
    /// These tools run without asking. A boolean `true` or the text `approve` means all of them.
    pub approve: &'static [&'static str],
    /// Whether an empty list of available tools means all of them.
    pub is_empty_all: bool,
}

/// Lists outside of the servers' entries that affect them.
#[derive(Clone, Copy, Debug)]
pub enum FileList {
    /// A table of switches by `SERVER_TOOL`, with `*` as wildcard, below this key.
    Switches(&'static str),
    /// A list of available tools, below this key: `@SERVER` or `@SERVER/TOOL`.
    Available(&'static str),
    /// A list of tools that run without asking, below this key: `@SERVER` or `@SERVER/TOOL`.
    Approved(&'static str),
    /// A list of the only servers in use, below these keys.
    OnlyServers(&'static [&'static str]),
    /// A list of servers that are not in use, below these keys.
    UnusedServers(&'static [&'static str]),
}

/// The form of an entry for Pegboard.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EntryForm {
    /// The form of an entry that starts `pegboard stdio`.
    pub stdio: StdioForm,
    /// The form of an entry that connects to a URL; `None` if the client's file does not support that.
    pub http: Option<HttpForm>,
    /// Constant fields of both, as JSON.
    pub constants: &'static [(&'static str, &'static str)],
    /// How the client is asked not to confirm every call of a meta tool.
    pub approval: Option<ApprovalMode>,
}

/// The form of an entry with a program.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StdioForm {
    /// The key and value that name the transport.
    pub transport: Option<(&'static str, &'static str)>,
    /// The key of the program.
    pub command: &'static str,
    /// Whether the program's value is a list that includes the arguments.
    pub is_list: bool,
    /// The key of the environment variables.
    pub env: &'static str,
}

/// The form of an entry with a URL.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HttpForm {
    /// The key and value that name the transport.
    pub transport: Option<(&'static str, &'static str)>,
    /// The key of the URL.
    pub url: &'static str,
    /// The key of the headers.
    pub headers: &'static str,
    /// The key that names an environment variable with the token, for clients that do not accept the token itself.
    pub token_variable: Option<&'static str>,
}

/// A key and value with which a client runs the tools of one server without confirming each call. Pegboard's own
/// policies apply in any case.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ApprovalMode {
    /// The key.
    pub key: &'static str,
    /// The value, as JSON.
    pub value: &'static str,
}

/// Finds a client by its key.
pub fn client(key: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.key == key)
}

const NO_LISTS: ToolLists = ToolLists {
    allow: &[],
    deny: &[],
    approve: &[],
    is_empty_all: false,
};

const STDIO: StdioForm = StdioForm {
    transport: None,
    command: "command",
    is_list: false,
    env: "env",
};

const URL: HttpForm = HttpForm {
    transport: None,
    url: "url",
    headers: "headers",
    token_variable: None,
};

const TYPED_URL: HttpForm = HttpForm {
    transport: Some(("type", "http")),
    ..URL
};

const ENTRY: EntryForm = EntryForm {
    stdio: STDIO,
    http: Some(URL),
    constants: &[],
    approval: None,
};

const TYPED_ENTRY: EntryForm = EntryForm {
    http: Some(TYPED_URL),
    ..ENTRY
};

/// A client without peculiarities, to be completed with its names and files.
const PLAIN: Client = Client {
    key: "",
    name: "",
    files: &[],
    entry: Some(ENTRY),
    variables: VariableSyntax::None,
    timeout: TimeoutUnit::Milliseconds,
    tool_lists: NO_LISTS,
    file_lists: &[],
    note: None,
};

const MCP_SERVERS: Root = Table(&["mcpServers"]);

/// A JSON file of the user with `mcpServers`, which `connect` writes to.
const fn user(linux: Location) -> ClientFile {
    ClientFile {
        scope: FileScope::User,
        linux,
        macos: None,
        format: FileFormat::Json,
        root: MCP_SERVERS,
        is_target: true,
    }
}

/// A JSON file of a project with `mcpServers`.
const fn project(path: &'static str) -> ClientFile {
    ClientFile {
        scope: FileScope::Project,
        is_target: false,
        ..user(At::Project(path))
    }
}

/// A file that is only read.
const fn read_only(file: ClientFile) -> ClientFile {
    ClientFile {
        is_target: false,
        ..file
    }
}

/// The clients, the most used ones first.
pub const CLIENTS: &[Client] = &[
    Client {
        key: "claude-code",
        name: "Claude Code",
        files: &[
            ClientFile {
                scope: FileScope::Project,
                root: PerProject("projects", "mcpServers"),
                ..read_only(user(At::Variable("CLAUDE_CONFIG_DIR", "", ".claude.json")))
            },
            project(".mcp.json"),
            user(At::Variable("CLAUDE_CONFIG_DIR", "", ".claude.json")),
        ],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("type", "stdio")),
                ..STDIO
            },
            // Its own tool search would hide the meta tools.
            constants: &[("alwaysLoad", "true")],
            ..TYPED_ENTRY
        }),
        variables: VariableSyntax::Shell,
        note: Some("Its own tool search would hide the meta tools; `alwaysLoad` prevents that."),
        ..PLAIN
    },
    Client {
        key: "claude-desktop",
        name: "Claude Desktop",
        files: &[ClientFile {
            macos: Some(At::ApplicationSupport("Claude/claude_desktop_config.json")),
            ..user(At::Config("Claude/claude_desktop_config.json"))
        }],
        entry: Some(EntryForm {
            http: None,
            ..ENTRY
        }),
        note: Some(
            "The file supports only local programs; add a URL as a connector in the app's settings.",
        ),
        ..PLAIN
    },
    Client {
        key: "cursor",
        name: "Cursor",
        files: &[
            project(".cursor/mcp.json"),
            user(At::Home(".cursor/mcp.json")),
        ],
        variables: VariableSyntax::Editor,
        ..PLAIN
    },
    Client {
        key: "vscode",
        name: "VS Code",
        files: &[
            ClientFile {
                root: Table(&["servers"]),
                ..project(".vscode/mcp.json")
            },
            ClientFile {
                macos: Some(At::ApplicationSupport("Code/User/mcp.json")),
                root: Table(&["servers"]),
                ..user(At::Config("Code/User/mcp.json"))
            },
            ClientFile {
                macos: Some(At::ApplicationSupport("Code - Insiders/User/mcp.json")),
                root: Table(&["servers"]),
                ..read_only(user(At::Config("Code - Insiders/User/mcp.json")))
            },
            ClientFile {
                root: Table(&["servers"]),
                ..read_only(user(At::Home(".vscode-server/data/User/mcp.json")))
            },
            ClientFile {
                macos: Some(At::ApplicationSupport("Code/User/settings.json")),
                root: Table(&["mcp", "servers"]),
                ..read_only(user(At::Config("Code/User/settings.json")))
            },
        ],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("type", "stdio")),
                ..STDIO
            },
            ..TYPED_ENTRY
        }),
        variables: VariableSyntax::Editor,
        ..PLAIN
    },
    Client {
        key: "copilot-cli",
        name: "Copilot CLI",
        files: &[user(At::Variable(
            "COPILOT_HOME",
            ".copilot",
            "mcp-config.json",
        ))],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("type", "local")),
                ..STDIO
            },
            constants: &[("tools", r#"["*"]"#)],
            ..TYPED_ENTRY
        }),
        tool_lists: ToolLists {
            allow: &["tools"],
            ..NO_LISTS
        },
        ..PLAIN
    },
    Client {
        key: "windsurf",
        name: "Windsurf",
        files: &[
            user(At::Home(".codeium/windsurf/mcp_config.json")),
            read_only(user(At::Home(".codeium/windsurf-next/mcp_config.json"))),
            read_only(user(At::Home(".codeium/mcp_config.json"))),
        ],
        entry: Some(EntryForm {
            http: Some(HttpForm {
                url: "serverUrl",
                ..URL
            }),
            ..ENTRY
        }),
        variables: VariableSyntax::Editor,
        tool_lists: ToolLists {
            deny: &["disabledTools"],
            ..NO_LISTS
        },
        ..PLAIN
    },
    Client {
        key: "codex",
        name: "Codex",
        files: &[
            ClientFile {
                format: FileFormat::Toml,
                root: Table(&["mcp_servers"]),
                ..project(".codex/config.toml")
            },
            ClientFile {
                format: FileFormat::Toml,
                root: Table(&["mcp_servers"]),
                ..user(At::Variable("CODEX_HOME", ".codex", "config.toml"))
            },
        ],
        entry: Some(EntryForm {
            http: Some(HttpForm {
                token_variable: Some("bearer_token_env_var"),
                headers: "http_headers",
                ..URL
            }),
            // `codex exec` refuses calls that it would have to confirm.
            approval: Some(ApprovalMode {
                key: "default_tools_approval_mode",
                value: r#""approve""#,
            }),
            ..ENTRY
        }),
        timeout: TimeoutUnit::Seconds,
        tool_lists: ToolLists {
            allow: &["enabled_tools"],
            deny: &["disabled_tools"],
            approve: &["default_tools_approval_mode"],
            ..NO_LISTS
        },
        note: Some(
            "Codex needs the name of an environment variable that contains the token, not the token itself.",
        ),
        ..PLAIN
    },
    Client {
        key: "gemini",
        name: "Gemini CLI",
        files: &[
            project(".gemini/settings.json"),
            user(At::Home(".gemini/settings.json")),
        ],
        entry: Some(TYPED_ENTRY),
        variables: VariableSyntax::BareShell,
        tool_lists: ToolLists {
            allow: &["includeTools"],
            deny: &["excludeTools"],
            approve: &["trust"],
            ..NO_LISTS
        },
        file_lists: &[
            FileList::OnlyServers(&["mcp", "allowed"]),
            FileList::UnusedServers(&["mcp", "excluded"]),
        ],
        ..PLAIN
    },
    Client {
        key: "antigravity",
        name: "Antigravity",
        files: &[user(At::Home(".gemini/antigravity/mcp_config.json"))],
        entry: Some(EntryForm {
            http: Some(HttpForm {
                url: "serverUrl",
                ..URL
            }),
            ..ENTRY
        }),
        ..PLAIN
    },
    Client {
        key: "zed",
        name: "Zed",
        files: &[
            ClientFile {
                root: Table(&["context_servers"]),
                ..project(".zed/settings.json")
            },
            ClientFile {
                // Zed uses this folder on macOS too.
                macos: Some(At::Home(".config/zed/settings.json")),
                root: Table(&["context_servers"]),
                ..user(At::Config("zed/settings.json"))
            },
        ],
        ..PLAIN
    },
    Client {
        key: "cline",
        name: "Cline",
        files: &[
            user(At::Variable(
                "CLINE_DIR",
                ".cline",
                "data/settings/cline_mcp_settings.json",
            )),
            ClientFile {
                macos: Some(At::ApplicationSupport(
                    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                )),
                ..read_only(user(At::Config(
                    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                )))
            },
        ],
        entry: Some(EntryForm {
            http: Some(HttpForm {
                transport: Some(("type", "streamableHttp")),
                ..URL
            }),
            ..ENTRY
        }),
        timeout: TimeoutUnit::Seconds,
        tool_lists: ToolLists {
            approve: &["autoApprove"],
            ..NO_LISTS
        },
        ..PLAIN
    },
    Client {
        key: "roo-code",
        name: "Roo Code",
        files: &[
            project(".roo/mcp.json"),
            ClientFile {
                macos: Some(At::ApplicationSupport(
                    "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                )),
                ..read_only(user(At::Config(
                    "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
                )))
            },
        ],
        // Discontinued in May 2026: only imported from.
        entry: None,
        timeout: TimeoutUnit::Seconds,
        tool_lists: ToolLists {
            deny: &["disabledTools"],
            approve: &["alwaysAllow"],
            ..NO_LISTS
        },
        ..PLAIN
    },
    Client {
        key: "goose",
        name: "Goose",
        files: &[ClientFile {
            // Goose uses this folder on macOS too.
            format: FileFormat::Yaml,
            root: Table(&["extensions"]),
            ..user(At::Config("goose/config.yaml"))
        }],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("type", "stdio")),
                command: "cmd",
                env: "envs",
                ..STDIO
            },
            http: Some(HttpForm {
                transport: Some(("type", "streamable_http")),
                url: "uri",
                ..URL
            }),
            constants: &[("name", r#""pegboard""#), ("enabled", "true")],
            ..ENTRY
        }),
        timeout: TimeoutUnit::Seconds,
        tool_lists: ToolLists {
            allow: &["available_tools"],
            is_empty_all: true,
            ..NO_LISTS
        },
        ..PLAIN
    },
    Client {
        key: "opencode",
        name: "opencode",
        files: &[
            ClientFile {
                root: Table(&["mcp"]),
                ..project("opencode.json")
            },
            ClientFile {
                root: Table(&["mcp"]),
                ..project("opencode.jsonc")
            },
            ClientFile {
                root: Table(&["mcp"]),
                ..user(At::FileVariable("OPENCODE_CONFIG"))
            },
            ClientFile {
                root: Table(&["mcp"]),
                ..user(At::Config("opencode/opencode.json"))
            },
            ClientFile {
                root: Table(&["mcp"]),
                ..user(At::Config("opencode/opencode.jsonc"))
            },
        ],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("type", "local")),
                is_list: true,
                env: "environment",
                ..STDIO
            },
            http: Some(HttpForm {
                transport: Some(("type", "remote")),
                ..URL
            }),
            constants: &[("enabled", "true")],
            ..ENTRY
        }),
        variables: VariableSyntax::Braces,
        // The time for fetching the list of tools.
        timeout: TimeoutUnit::NotOfCalls,
        file_lists: &[FileList::Switches("tools")],
        ..PLAIN
    },
    Client {
        key: "amazon-q",
        name: "Amazon Q",
        files: &[
            project(".amazonq/cli-agents/*.json"),
            project(".amazonq/mcp.json"),
            read_only(user(At::Home(".aws/amazonq/cli-agents/*.json"))),
            user(At::Home(".aws/amazonq/mcp.json")),
            read_only(user(At::Home(".aws/amazonq/agents/default.json"))),
        ],
        entry: Some(TYPED_ENTRY),
        file_lists: &[
            FileList::Available("tools"),
            FileList::Approved("allowedTools"),
        ],
        ..PLAIN
    },
    Client {
        key: "kiro",
        name: "Kiro",
        files: &[
            project(".kiro/settings/mcp.json"),
            user(At::Home(".kiro/settings/mcp.json")),
        ],
        variables: VariableSyntax::Shell,
        tool_lists: ToolLists {
            deny: &["disabledTools"],
            approve: &["autoApprove"],
            ..NO_LISTS
        },
        ..PLAIN
    },
    Client {
        key: "junie",
        name: "Junie",
        files: &[
            project(".junie/mcp/mcp.json"),
            user(At::Home(".junie/mcp/mcp.json")),
        ],
        ..PLAIN
    },
    Client {
        key: "lm-studio",
        name: "LM Studio",
        files: &[user(At::Home(".lmstudio/mcp.json"))],
        ..PLAIN
    },
    Client {
        key: "continue",
        name: "Continue",
        files: &[
            ClientFile {
                format: FileFormat::Yaml,
                root: List(&["mcpServers"]),
                ..project(".continue/mcpServers/*.yaml")
            },
            project(".continue/mcpServers/*.json"),
            ClientFile {
                format: FileFormat::Yaml,
                root: List(&["mcpServers"]),
                ..user(At::Home(".continue/config.yaml"))
            },
        ],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("type", "stdio")),
                ..STDIO
            },
            // Its headers are in `requestOptions`; a token there is not documented for MCP servers.
            http: None,
            ..ENTRY
        }),
        variables: VariableSyntax::Secrets,
        ..PLAIN
    },
    Client {
        key: "amp",
        name: "Amp",
        files: &[ClientFile {
            root: Table(&["amp.mcpServers"]),
            ..user(At::Config("amp/settings.json"))
        }],
        ..PLAIN
    },
    Client {
        key: "vibe",
        name: "Mistral Vibe",
        files: &[ClientFile {
            format: FileFormat::Toml,
            root: List(&["mcp_servers"]),
            ..user(At::Home(".vibe/config.toml"))
        }],
        entry: Some(EntryForm {
            stdio: StdioForm {
                transport: Some(("transport", "stdio")),
                ..STDIO
            },
            http: Some(HttpForm {
                transport: Some(("transport", "streamable-http")),
                ..URL
            }),
            ..ENTRY
        }),
        timeout: TimeoutUnit::Seconds,
        ..PLAIN
    },
    Client {
        key: "kimi",
        name: "Kimi CLI",
        files: &[user(At::Home(".kimi/mcp.json"))],
        ..PLAIN
    },
    Client {
        key: "factory",
        name: "Factory",
        files: &[user(At::Home(".factory/mcp.json"))],
        entry: Some(TYPED_ENTRY),
        ..PLAIN
    },
    Client {
        key: "qoder",
        name: "Qoder",
        files: &[user(At::Home(".qoder/mcp.json"))],
        ..PLAIN
    },
    Client {
        key: "trae",
        name: "Trae",
        files: &[ClientFile {
            macos: Some(At::ApplicationSupport("Trae/User/mcp.json")),
            ..user(At::Config("Trae/User/mcp.json"))
        }],
        ..PLAIN
    },
    Client {
        key: "mcporter",
        name: "mcporter",
        files: &[
            project("config/mcporter.json"),
            user(At::Home(".mcporter/mcporter.json")),
            user(At::Home(".mcporter/mcporter.jsonc")),
        ],
        variables: VariableSyntax::ShellOrEnv,
        ..PLAIN
    },
    Client {
        key: "mcp-cli",
        name: "mcp-cli",
        files: &[
            project("mcp_servers.json"),
            user(At::Home(".config/mcp/mcp_servers.json")),
        ],
        variables: VariableSyntax::Shell,
        tool_lists: ToolLists {
            allow: &["allowedTools"],
            deny: &["disabledTools"],
            ..NO_LISTS
        },
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_07_every_client_has_a_key_of_its_own_and_a_file() {
        let keys: std::collections::BTreeSet<_> = CLIENTS.iter().map(|client| client.key).collect();
        assert_eq!(keys.len(), CLIENTS.len());
        for client in CLIENTS {
            assert!(!client.files.is_empty(), "{}", client.key);
            let has_target = client.files.iter().any(|file| file.is_target);
            assert_eq!(has_target, client.entry.is_some(), "{}", client.key);
        }
    }
}
