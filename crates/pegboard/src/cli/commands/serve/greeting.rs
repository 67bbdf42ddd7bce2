//! What a person needs to connect a client: the address, the token, and what to paste.

use std::fs::Metadata;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pegboard_gateway::http::{Access, TOKEN_FILE, stored_token};
use pegboard_model::Secret;
use serde::Serialize;
use serde_json::{Value, json};

use super::address::Listening;
use crate::Pegboard;
use crate::cli::output::{Output, Paint};
use crate::cli::prompts::count;
use crate::web::own_variables;

#[derive(Serialize)]
struct Document {
    url: String,
    dashboard: String,
    profiles: Vec<String>,
    token_file: Option<String>,
    /// Only if it is stored in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// Tells what is served where. Standard output holds nothing secret unless a person looks at it, or there is no other
/// way to learn a token: a temporary one is stored nowhere.
pub(super) fn greet(
    pegboard: &Pegboard,
    listening: &Listening,
    access: &Access,
    login: Option<&Secret>,
    temporary: Option<&Secret>,
    output: &Output,
) {
    let configured = pegboard.configured();
    let dashboard = format!("http://{}/", shown_address(listening));
    let url = format!("{dashboard}mcp");
    let token_file = configured.state.path().join(TOKEN_FILE);
    let profiles: Vec<String> = configured.loaded.profiles.keys().cloned().collect();
    if output.json {
        let token_file = token_file.display().to_string();
        let is_stored = access.needs_token() && temporary.is_none();
        let token_file = is_stored.then_some(token_file);
        // Whoever does not read it can still be served.
        let _ = output.document(&Document {
            url,
            dashboard,
            profiles,
            token_file,
            token: temporary.map(|token| token.reveal().to_owned()),
        });
        return;
    }
    let mut lines = vec![format!(
        "MCP endpoint  {}",
        output.paint(Paint::Strong, &url)
    )];
    lines.push(match login {
        Some(login) => format!("Dashboard     {}", login.reveal()),
        None => format!("Dashboard     {dashboard} (`pegboard dashboard` logs you in)"),
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
            "Token         {token} (not stored; it ends with this run)"
        ));
    } else if access.needs_token() {
        let file = token_file.display();
        lines.push(format!(
            "Token         `pegboard token` prints it (kept in {file})"
        ));
    }
    lines.push(String::new());
    lines.push("To connect a client, paste this into its configuration:".to_owned());
    let state = configured.state.path();
    lines.push(pretty(&http_entry(&url, state, access, temporary)));
    lines.push("or, for a client that starts Pegboard itself:".to_owned());
    let variables = own_variables(&configured.environment, &configured.paths);
    lines.push(pretty(&match variables.is_empty() {
        true => json!({ "command": own_command(), "args": ["stdio"] }),
        false => json!({ "command": own_command(), "args": ["stdio"], "env": variables }),
    }));
    lines.push(String::new());
    let _ = output.line(&lines.join("\n"));
    output.note("Press Ctrl-C to stop.");
    if !configured.loaded.servers.is_empty() {
        output.note("`pegboard tools` and `pegboard call` work in another terminal.");
    }
}

/// Tells what is known.
pub(crate) fn print_statistics(pegboard: &Pegboard, output: &Output) {
    let statistics = pegboard.hub().catalog().statistics();
    output.note(&format!(
        "{} {}, {} known",
        output.paint(Paint::Strong, "pegboard"),
        count(statistics.servers.total, "server"),
        count(statistics.tools, "tool")
    ));
}

/// An address that can be used from here: nobody can connect to "everywhere".
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

/// `pegboard` where that finds this very program, else its path.
pub(super) fn own_command() -> String {
    const NAME: &str = "pegboard";
    let Ok(own) = std::env::current_exe() else {
        return NAME.to_owned();
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    // Files are compared rather than paths, because one look at each is enough for that.
    let file = |about: Metadata| (about.dev(), about.ino());
    let found = folders.find_map(|folder| folder.join(NAME).metadata().ok().map(file));
    if found.is_some() && found == own.metadata().ok().map(file) {
        return NAME.to_owned();
    }
    own.display().to_string()
}
