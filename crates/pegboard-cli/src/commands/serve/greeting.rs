//! The startup message: the URLs, the token, and the configuration to paste into a client.

use std::fs::Metadata;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pegboard::dashboard::own_variables;
use pegboard::{Configuration, Pegboard};
use pegboard_gateway::http::{Access, TOKEN_FILE, stored_token};
use pegboard_model::Secret;
use serde::Serialize;
use serde_json::{Value, json};

use super::address::Listening;
use crate::commands::CommandResult;
use crate::format::count;
use crate::output::{Output, Paint};

#[derive(Serialize)]
struct Document {
    url: String,
    dashboard: String,
    profiles: Vec<String>,
    token_file: Option<String>,
    /// Present only if the token is not stored in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Whether this is another process, which was running before.
    reused: bool,
}

/// Prints the URLs and how to connect. Secrets are printed only on a terminal, or if there is no other way to get
/// them: a temporary token is not stored in a file.
pub(super) fn greet(
    pegboard: &Pegboard,
    listening: &Listening,
    access: &Access,
    login: Option<&Secret>,
    temporary: Option<&Secret>,
    output: &Output,
) {
    let configuration = pegboard.configuration();
    let dashboard = format!("http://{}/", shown_address(listening));
    let url = format!("{dashboard}mcp");
    let token_file = configuration.state.path().join(TOKEN_FILE);
    let profiles: Vec<String> = configuration.loaded.profiles.keys().cloned().collect();
    if output.json {
        let token_file = token_file.display().to_string();
        let is_stored = access.needs_token() && temporary.is_none();
        let token_file = is_stored.then_some(token_file);
        // Serving continues if nothing reads the output.
        let _ = output.document(&Document {
            url,
            dashboard,
            profiles,
            token_file,
            token: temporary.map(|token| token.reveal().to_owned()),
            reused: false,
        });
        return;
    }
    let mut lines = vec![format!(
        "MCP endpoint  {}",
        output.paint(Paint::Strong, &url)
    )];
    lines.push(match login {
        Some(login) => format!("Dashboard     {}", login.reveal()),
        None => format!("Dashboard     {dashboard} (log in with `pegboard dashboard`)"),
    });
    if !profiles.is_empty() {
        lines.push(format!(
            "Profiles      {url}/NAME with {}",
            profiles.join(", ")
        ));
    }
    if let Some(token) = temporary {
        let token = token.reveal();
        lines.push(format!(
            "Token         {token} (not stored; valid for this run only)"
        ));
    } else if access.needs_token() {
        let file = token_file.display();
        lines.push(format!(
            "Token         print it with `pegboard token` (stored in {file})"
        ));
    }
    lines.push(String::new());
    lines.push("To connect a client, paste this into its configuration:".to_owned());
    let state = configuration.state.path();
    lines.push(pretty(&http_entry(&url, state, access, temporary)));
    lines.push("or, for a client that starts Pegboard itself:".to_owned());
    let variables = own_variables(&configuration.environment, &configuration.paths);
    lines.push(pretty(&match variables.is_empty() {
        true => json!({ "command": own_command(), "args": ["stdio"] }),
        false => json!({ "command": own_command(), "args": ["stdio"], "env": variables }),
    }));
    lines.push(String::new());
    let _ = output.line(&lines.join("\n"));
    output.note("Press Ctrl-C to stop.");
    if !configuration.loaded.servers.is_empty() {
        output.note("`pegboard tools` and `pegboard call` work in another terminal.");
    }
}

/// Prints the URLs of a running Pegboard that serves the same configuration.
pub(super) fn greet_reused(
    configuration: &Configuration,
    address: SocketAddr,
    output: &Output,
) -> CommandResult {
    let dashboard = format!("http://{address}/");
    let url = format!("{dashboard}mcp");
    if output.json {
        let state = configuration.state.path();
        let is_stored = stored_token(state)?.is_some();
        let token_file = is_stored.then(|| state.join(TOKEN_FILE).display().to_string());
        return output.document(&Document {
            url,
            dashboard,
            profiles: configuration.loaded.profiles.keys().cloned().collect(),
            token_file,
            token: None,
            reused: true,
        });
    }
    output.line(&format!(
        "MCP endpoint  {}\nDashboard     {dashboard} (log in with `pegboard dashboard`)",
        output.paint(Paint::Strong, &url)
    ))?;
    output.note("A Pegboard with this configuration is already running.");
    Ok(())
}

/// Prints the number of servers and tools.
pub(crate) fn print_statistics(pegboard: &Pegboard, output: &Output) {
    let statistics = pegboard.hub().catalog().statistics();
    output.note(&format!(
        "{} {}, {} in the catalog",
        output.paint(Paint::Strong, "pegboard"),
        count(statistics.servers.total, "server"),
        count(statistics.tools, "tool")
    ));
}

/// Returns the address for local clients; an unspecified address such as `0.0.0.0` cannot be connected to.
pub(super) fn shown_address(listening: &Listening) -> String {
    let address = listening.address;
    if address.ip().is_unspecified() {
        return format!("localhost:{}", address.port());
    }
    address.to_string()
}

fn http_entry(url: &str, state: &Path, access: &Access, temporary: Option<&Secret>) -> Value {
    if !access.needs_token() {
        return json!({ "type": "http", "url": url });
    }
    let token = match stored_token(state) {
        _ if temporary.is_some() => temporary.map(Secret::reveal).unwrap_or_default().to_owned(),
        Ok(Some(token)) if std::io::stdout().is_terminal() => token.reveal().to_owned(),
        _ => "$(pegboard token)".to_owned(),
    };
    let bearer = format!("Bearer {token}");
    json!({ "type": "http", "url": url, "headers": { "Authorization": bearer } })
}

fn pretty(entry: &Value) -> String {
    let whole = json!({ "mcpServers": { "pegboard": entry } });
    serde_json::to_string_pretty(&whole).unwrap_or_default()
}

/// Returns `pegboard` if `PATH` resolves it to this program, else the path of this program.
pub(super) fn own_command() -> String {
    const NAME: &str = "pegboard";
    let Ok(own) = std::env::current_exe() else {
        return NAME.to_owned();
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    // Compares device and inode, which needs one system call per file.
    let file = |about: Metadata| (about.dev(), about.ino());
    let found = folders.find_map(|folder| folder.join(NAME).metadata().ok().map(file));
    if found.is_some() && found == own.metadata().ok().map(file) {
        return NAME.to_owned();
    }
    own.display().to_string()
}
