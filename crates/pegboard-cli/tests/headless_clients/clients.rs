//! The four clients: the configuration that each one reads, and how it is run headless.

use std::process::Command;

use pegboard_testkit::ModelServer;
use serde_json::{Value, json};

use crate::client::{Client, command};
use crate::machine::Machine;

/// An API key that every client requires and the scripted model ignores.
const KEY: &str = "not-a-key";

pub(crate) const CLAUDE_CODE: Client = Client {
    name: "Claude Code",
    prefix: "mcp__pegboard__",
    namespace: None,
    set_up: claude_code,
};

/// Claude Code with its own tool search, which hides the tools of MCP servers until a search names them.
pub(crate) const CLAUDE_CODE_SEARCHING: Client = Client {
    name: "Claude Code with its own tool search",
    set_up: |machine, model| {
        let mut command = claude_code(machine, model);
        command.env("ENABLE_TOOL_SEARCH", "true");
        command
    },
    ..CLAUDE_CODE
};

/// Default `codex exec`: it runs tools annotated as read-only and refuses all others.
pub(crate) const CODEX: Client = Client {
    name: "Codex",
    prefix: "",
    namespace: Some("mcp__pegboard"),
    set_up: |machine, model| codex(machine, model, ""),
};

/// Codex that leaves approvals to Pegboard.
pub(crate) const CODEX_APPROVING: Client = Client {
    name: "Codex that approves Pegboard's tools",
    set_up: |machine, model| codex(machine, model, "default_tools_approval_mode = \"approve\""),
    ..CODEX
};

pub(crate) const GEMINI_CLI: Client = Client {
    name: "Gemini CLI",
    prefix: "mcp_pegboard_",
    namespace: None,
    set_up: gemini_cli,
};

pub(crate) const OPENCODE: Client = Client {
    name: "opencode",
    prefix: "pegboard_",
    namespace: None,
    set_up: opencode,
};

fn claude_code(machine: &Machine, model: &ModelServer) -> Command {
    let servers = json!({"mcpServers": {"pegboard": machine.mcp_server()}});
    machine
        .home
        .write("home/.claude.json", &servers.to_string());
    let mut command = command(machine, "claude");
    command
        .args(["--print", "Begin.", "--allowedTools", "mcp__pegboard"])
        .env("ANTHROPIC_BASE_URL", model.anthropic_url())
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    command
}

fn codex(machine: &Machine, model: &ModelServer, more: &str) -> Command {
    let server = machine.mcp_server();
    let variables = server["env"].as_object().into_iter().flatten();
    let variables: String = variables
        .map(|(name, value)| format!("{name} = {value}\n"))
        .collect();
    let config = format!(
        r#"model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}"
env_key = "SCRIPTED_MODEL_KEY"
wire_api = "responses"

# Without this it clones a repository of plugins from GitHub.
[features]
plugins = false

[analytics]
enabled = false

[mcp_servers.pegboard]
command = {program}
args = {args}
{more}

[mcp_servers.pegboard.env]
{variables}"#,
        url = model.openai_url(),
        program = server["command"],
        args = server["args"],
    );
    machine.home.write("home/.codex/config.toml", &config);
    let mut command = command(machine, "codex");
    command
        .args(["exec", "--skip-git-repo-check", "Begin."])
        .env("SCRIPTED_MODEL_KEY", KEY);
    command
}

fn gemini_cli(machine: &Machine, model: &ModelServer) -> Command {
    // Headless, it offers the model no tools that would need a confirmation, so the server has to be trusted.
    let mut server = machine.mcp_server();
    server["trust"] = Value::Bool(true);
    let settings = json!({
        "mcpServers": {"pegboard": server},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    machine
        .home
        .write("home/.gemini/settings.json", &settings.to_string());
    let mut command = command(machine, "gemini");
    command
        .args(["--prompt", "Begin.", "--model", "gemini-2.5-flash"])
        .env("GOOGLE_GEMINI_BASE_URL", model.gemini_url())
        .env("GEMINI_API_KEY", KEY)
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        // Otherwise it restarts itself with more memory.
        .env("GEMINI_CLI_NO_RELAUNCH", "true");
    command
}

fn opencode(machine: &Machine, model: &ModelServer) -> Command {
    let server = machine.mcp_server();
    let words = [&server["command"]].into_iter();
    let words: Vec<&Value> = words
        .chain(server["args"].as_array().into_iter().flatten())
        .collect();
    let config = json!({
        "mcp": {"pegboard": {"type": "local", "command": words, "environment": server["env"], "timeout": 60_000}},
        "provider": {"scripted": {
            "npm": "@ai-sdk/anthropic",
            "options": {"baseURL": format!("{}/v1", model.anthropic_url()), "apiKey": KEY},
            "models": {"scripted": {"tool_call": true, "limit": {"context": 200_000, "output": 8_000}}},
        }},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": false,
        "share": "disabled",
    });
    machine
        .home
        .write("home/.config/opencode/opencode.json", &config.to_string());
    let mut command = command(machine, "opencode");
    command
        .args(["run", "Begin."])
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
        .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
        .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
        .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
        // It installs a package for plugins beside its configuration.
        .env("npm_config_offline", "true");
    command
}
