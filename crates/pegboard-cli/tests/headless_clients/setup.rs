//! `pegboard setup` on a machine with the real Claude Code.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::command;
use crate::machine::{Approvals, Machine};
use crate::support::{PEGBOARD, Run};

/// From the files to a connected client.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn r_cfg_07_claude_code_is_connected_after_setup() {
    let Some(machine) = Machine::with(Approvals::NoInbox) else {
        return;
    };
    let home = &machine.home;
    let server = |place: &str| json!({"command": PEGBOARD, "args": ["example-server"], "env": {"PLACE": place}});
    let own =
        json!({"github": server("github"), "files": server("files"), "tickets": server("tickets")});
    home.write("home/.claude.json", &json!({"mcpServers": own}).to_string());
    let cursor =
        json!({"files": server("files"), "browser": server("browser"), "mail": server("mail")});
    home.write(
        "home/.cursor/mcp.json",
        &json!({"mcpServers": cursor}).to_string(),
    );
    let code = json!({"database": server("database")});
    home.write(
        "home/.config/Code/User/mcp.json",
        &json!({"servers": code}).to_string(),
    );
    let gemini = json!({"calendar": server("calendar")});
    home.write(
        "home/.gemini/settings.json",
        &json!({"mcpServers": gemini}).to_string(),
    );
    let codex = format!(
        "[mcp_servers.metrics]\ncommand = {}\nargs = [\"example-server\"]\nenv = {{ PLACE = \"metrics\" }}\n",
        json!(PEGBOARD)
    );
    home.write("home/.codex/config.toml", &codex);
    let started = Instant::now();
    let shown = home.run(&["setup", "--yes"]).ok();
    assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    assert!(
        shown.stdout.contains("Found 8 servers in 5 files"),
        "{}",
        shown.stdout
    );
    let mut claude = command(&machine, "claude");
    claude
        .args(["mcp", "list"])
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("NO_COLOR", "1");
    let listed = Run::of(claude, "").ok().stdout;
    let servers: Vec<&str> = listed
        .lines()
        .filter(|line| line.contains("Connected"))
        .collect();
    let [line] = servers.as_slice() else {
        panic!("Claude Code lists other servers than Pegboard:\n{listed}");
    };
    assert!(line.starts_with("pegboard:"), "{listed}");
    home.assert_nothing_runs();
}
