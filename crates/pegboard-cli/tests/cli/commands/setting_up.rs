//! `setup`, and what `up` offers without any server: import, connect and discover in one run.

use serde_json::{Value, json};

use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD};

const SECRET: &str = "ghp_canary0123456789canary0123456789canary";

/// A home with three clients: two share a server, one has a secret, and one file is a project's.
fn home() -> Home {
    let home = Home::new();
    let example = |name: &str| json!({"command": PEGBOARD, "args": ["example-server"], "env": {"PLACE": name}});
    let mut notes = example("notes");
    notes["env"]["API_TOKEN"] = json!(SECRET);
    home.write(
        "home/.claude.json",
        &json!({"theme": "dark", "mcpServers": {"files": example("files"), "notes": notes}})
            .to_string(),
    );
    home.write(
        "home/.cursor/mcp.json",
        &json!({"mcpServers": {"files": example("files"), "weather": example("weather")}})
            .to_string(),
    );
    home.write("home/.gemini/settings.json", "{\"theme\": \"light\"}\n");
    let project = json!({"mcpServers": {"theirs": example("theirs")}});
    home.write("project/.cursor/mcp.json", &project.to_string());
    home
}

fn read(home: &Home, path: &str) -> String {
    std::fs::read_to_string(home.path(path)).unwrap_or_default()
}

fn servers(home: &Home, path: &str) -> Vec<String> {
    let file: Value = serde_json::from_str(&read(home, path)).expect("a client's file is JSON");
    let servers = file["mcpServers"].as_object().expect("servers");
    servers.keys().cloned().collect()
}

const FILES: [&str; 3] = [
    "home/.claude.json",
    "home/.cursor/mcp.json",
    "home/.gemini/settings.json",
];

#[test]
fn r_cfg_07_setup_imports_connects_discovers_and_can_be_undone() {
    let home = home();
    let before = FILES.map(|file| read(&home, file));
    let run = home.run(&["setup", "--yes"]).ok();
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert!(!printed.contains(SECRET), "{printed}");
    // The project's server is in neither.
    let config = home.config();
    for name in ["files", "notes", "weather"] {
        assert!(config.contains(&format!("[servers.{name}]")), "{config}");
    }
    assert!(
        !config.contains("theirs") && !config.contains(SECRET),
        "{config}"
    );
    assert!(config.contains("${secret:"), "{config}");
    for file in FILES {
        assert_eq!(servers(&home, file), ["pegboard"], "{file}");
    }
    let listed = home.run(&["list", "--json"]).ok().json();
    let listed = listed["servers"].as_array().expect("a list").clone();
    assert_eq!(listed.len(), 3);
    for server in &listed {
        assert_eq!(server["tools"], EXAMPLE_TOOLS, "{server}");
    }
    for expected in [
        "Found 3 servers in 2 files",
        "now through Pegboard: files, notes",
        "TOKENS BEFORE",
        "A server starts when one of its tools is called",
        "restart Claude Code, Cursor, Gemini CLI",
        "pegboard disconnect --all",
    ] {
        assert!(printed.contains(expected), "{expected}:\n{printed}");
    }
    // A second run has nothing to do.
    let again = home.run(&["setup", "--yes"]).ok();
    let printed = format!("{}{}", again.stdout, again.stderr);
    assert!(printed.contains("is connected already"), "{printed}");
    assert_eq!(home.config(), config);
    home.run(&["disconnect", "--all", "--yes"]).ok();
    assert_eq!(FILES.map(|file| read(&home, file)), before);
    home.assert_nothing_runs();
}

#[test]
fn r_cfg_07_setup_counts_tokens_and_processes_before_and_after() {
    let home = home();
    let run = home.run(&["setup", "--yes", "--json"]).ok();
    let document = run.json();
    let tokens = home.run(&["tokens", "--json"]).ok().json();
    let (all, own) = (&tokens["total"]["static"], &tokens["total"]["lazy"]);
    // Three servers with the same tools; two clients have two of them each.
    let each = all.as_u64().expect("a count") / 3;
    let savings = &document["savings"];
    assert_eq!(savings["tokens_before"], each * 4, "{savings}");
    assert_eq!(savings["tokens_now"], own.as_u64().expect("a count") * 3);
    assert_eq!(savings["processes_before"], 4);
    assert_eq!(savings["processes_now"], 3);
    assert_eq!(document["clients"].as_array().map(Vec::len), Some(3));
    assert!(!run.stdout.contains(SECRET));
}

#[test]
fn r_cfg_07_setup_writes_nothing_without_a_terminal_or_with_dry_run() {
    let home = home();
    let before = FILES.map(|file| read(&home, file));
    for args in [
        &["setup"][..],
        &["setup", "--dry-run"],
        &["setup", "--json"],
    ] {
        let run = home.run(args).ok();
        let printed = format!("{}{}", run.stdout, run.stderr);
        assert!(!printed.contains(SECRET), "{printed}");
        assert_eq!(FILES.map(|file| read(&home, file)), before, "{args:?}");
        assert_eq!(home.config(), "", "{args:?}");
        if !args.contains(&"--json") {
            assert!(printed.contains("Nothing was written"), "{printed}");
            assert!(
                printed.contains("+    \"pegboard\"") || printed.contains("\"pegboard\":"),
                "{printed}"
            );
        }
    }
}

#[test]
fn r_cfg_07_setup_reports_each_step_that_failed_and_continues() {
    let home = home();
    home.write("home/.codex/config.toml", "broken = [");
    let cursor = json!({"mcpServers": {"gone": {"command": "/nothing/here"}}});
    home.write("home/.cursor/mcp.json", &cursor.to_string());
    let run = home.run(&["setup", "--yes"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    let printed = format!("{}{}", run.stdout, run.stderr);
    for expected in [
        "Not done",
        "Codex was not connected",
        "`gone` could not be discovered; it stays configured",
        "Run `pegboard setup` again",
    ] {
        assert!(printed.contains(expected), "{expected}:\n{printed}");
    }
    assert_eq!(servers(&home, "home/.claude.json"), ["pegboard"]);
    assert_eq!(read(&home, "home/.codex/config.toml"), "broken = [");
    // The next run finishes what is left.
    home.write("home/.codex/config.toml", "model = \"x\"\n");
    let printed = home.run(&["setup", "--yes"]).stdout;
    assert!(printed.contains("Codex"), "{printed}");
    assert!(read(&home, "home/.codex/config.toml").contains("[mcp_servers.pegboard]"));
}

#[test]
fn r_cfg_07_setup_can_be_limited() {
    let home = home();
    let before = FILES.map(|file| read(&home, file));
    home.run(&["setup", "--yes", "--client", "cursor", "--no-connect"])
        .ok();
    assert_eq!(FILES.map(|file| read(&home, file)), before);
    assert!(!home.config().contains("notes"), "{}", home.config());
    home.run(&["setup", "--yes", "--client", "cursor"]).ok();
    assert_eq!(servers(&home, "home/.cursor/mcp.json"), ["pegboard"]);
    assert_eq!(read(&home, "home/.claude.json"), before[0]);
    let unknown = home.run(&["setup", "--client", "cursr"]).exits(2);
    assert!(
        unknown.stderr.contains("did you mean cursor"),
        "{}",
        unknown.stderr
    );
    let empty = Home::new().run(&["setup", "--yes"]).ok();
    assert!(
        empty.stderr.contains("no server to bring in"),
        "{}",
        empty.stderr
    );
}

#[test]
fn r_cfg_07_a_server_that_needs_a_secret_stays_in_its_client() {
    let home = Home::new();
    let file = json!({
        "inputs": [{"id": "key", "type": "promptString", "description": "The key", "password": true}],
        "servers": {"asks": {"type": "stdio", "command": PEGBOARD, "args": ["example-server"], "env": {"KEY": "${input:key}"}}},
    });
    let path = "home/.config/Code/User/mcp.json";
    home.write(path, &file.to_string());
    let run = home.run(&["setup", "--yes"]);
    let printed = format!("{}{}", run.stdout, run.stderr);
    assert!(printed.contains("pegboard secret set"), "{printed}");
    assert!(
        read(&home, path).contains("\"asks\""),
        "{}",
        read(&home, path)
    );
    assert!(printed.contains("still direct: asks"), "{printed}");
}

#[test]
fn r_cfg_07_up_without_a_server_names_setup() {
    let home = home();
    let run = home.run(&["up", "--once"]).ok();
    assert!(
        run.stderr
            .contains("Found 3 servers in 2 clients. Bring them in with `pegboard setup`."),
        "{}",
        run.stderr
    );
    assert_eq!(home.config(), "");
    let nothing = Home::new().run(&["up", "--once"]).ok();
    assert!(
        nothing.stderr.contains("`pegboard setup`"),
        "{}",
        nothing.stderr
    );
    assert!(!nothing.stderr.contains("Found"), "{}", nothing.stderr);
}
