//! `import`: shows the clients' servers and takes over the chosen ones.

use std::fs;
use std::path::Path;

use pegboard_testkit::{SseScript, SseServer};
use serde_json::json;

use crate::support::{Home, PEGBOARD};

/// A machine with the example server in the files of three clients.
fn machine() -> Home {
    let home = Home::new();
    let entry = json!({"command": PEGBOARD, "args": ["example-server"], "env": {"DEMO_TOKEN": "canary-demo"}});
    let cursor = json!({"mcpServers": {"Example": entry, "events": {"command": "x", "url": "https://example.com/mcp"}}});
    home.write("home/.cursor/mcp.json", &cursor.to_string());
    let codex = format!(
        "[mcp_servers.picked]\ncommand = {}\nargs = [\"example-server\"]\nenabled_tools = [\"add_numbers\"]\n",
        json!(PEGBOARD)
    );
    home.write("home/.codex/config.toml", &codex);
    home.write("home/.lmstudio/mcp.json", "{ \"mcpServers\": ");
    let project =
        json!({"servers": {"local": {"command": PEGBOARD, "args": ["example-server", "x"]}}});
    home.write("project/.vscode/mcp.json", &project.to_string());
    home
}

fn client_files(home: &Home) -> Vec<Vec<u8>> {
    let names = [
        "home/.cursor/mcp.json",
        "home/.codex/config.toml",
        "home/.lmstudio/mcp.json",
        "project/.vscode/mcp.json",
    ];
    names
        .iter()
        .map(|name| fs::read(home.path(name)).expect("a client's file"))
        .collect()
}

#[test]
fn r_cfg_07_without_a_terminal_import_shows_the_plan_and_writes_nothing() {
    let home = machine();
    for args in [&["import"][..], &["import", "--dry-run"]] {
        let run = home.run(args).ok();
        insta::allow_duplicates! {
            insta::assert_snapshot!(home.shown(&run.stdout), @r"
            CLIENT     FILE                  SERVER   STATE
            Cursor     ~/.cursor/mcp.json    Example  new, as example
                                             events   broken: the entry has both a command and a URL
            VS Code    .vscode/mcp.json      local    new (project)
            Codex      ~/.codex/config.toml  picked   new
            LM Studio  ~/.lmstudio/mcp.json           broken: line 1: the file is not valid JSON: Expected value after colon in object property

            example  [PEGBOARD] example-server
              env.DEMO_TOKEN = ${secret:demo_token}
              env.DEMO_TOKEN: looks like a secret -> ${secret:demo_token}

            picked  [PEGBOARD] example-server
              policy * = disable
              available tools: add_numbers
            ");
            insta::assert_snapshot!(home.shown(&run.stderr), @r"
            1 server of this project's files can be added to .pegboard/config.toml with `--project-servers`; they need `pegboard trust` before they run.
            Nothing was written. Import 2 servers with `pegboard import --yes`.
            ");
        }
    }
    assert_eq!(home.config(), "");
    let plan = home.run(&["import", "--json"]).ok().json();
    assert!(plan["report"].is_null());
    assert_eq!(plan["plan"]["servers"].as_array().map(Vec::len), Some(4));
}

#[test]
fn r_cfg_07_import_writes_discovers_and_keeps_the_clients_files() {
    let home = machine();
    let before = client_files(&home);
    let run = home.run(&["import", "--yes"]).ok();
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("✓ example  16 tools ("), "{shown}");
    assert!(
        run.stdout
            .contains("- events  skipped: the entry has both a command and a URL"),
        "{shown}"
    );
    assert!(run.stderr.contains("pegboard connect"), "{shown}");
    assert!(!shown.contains("canary"), "{shown}");
    assert!(
        !home.config().contains("canary") && home.config().contains("${secret:demo_token}"),
        "{}",
        home.config()
    );
    assert_eq!(client_files(&home), before);
    assert!(
        !home.path("project/.pegboard").exists(),
        "`--yes` alone takes nothing from a project"
    );
    // The list of available tools is in force.
    let tools = home.run(&["tools", "picked", "--json"]).ok().json();
    let names: Vec<_> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(names, ["picked__add_numbers"]);
    let again = home.run(&["import", "--yes", "--json"]).ok().json();
    let results = again["report"]["results"]
        .as_array()
        .expect("results")
        .clone();
    assert!(
        results.iter().all(|result| result["state"] == "skipped"),
        "{results:?}"
    );
}

#[test]
fn r_cfg_07_a_projects_server_is_imported_by_name_and_needs_trust() {
    let home = machine();
    let run = home.run(&["import", "--yes", "--server", "local"]).ok();
    assert!(run.stderr.contains("pegboard trust"), "{}", run.stderr);
    assert_eq!(home.config(), "");
    let config =
        fs::read_to_string(home.path("project/.pegboard/config.toml")).expect("the project's file");
    assert!(config.contains("[servers.local]"), "{config}");
    let row = home.run(&["list", "--json"]).ok().json()["servers"][0].clone();
    assert_eq!(row["trust_state"], "pending", "{row}");
    home.assert_nothing_runs();
}

#[test]
fn r_cfg_07_unknown_names_and_failures_have_exit_codes() {
    let home = machine();
    let run = home.run(&["import", "no-such-client"]).exits(2);
    assert!(run.stderr.contains("claude-code"), "{}", run.stderr);
    home.run(&["import", "--server", "none"]).exits(7);
    home.run(&["import", "--yes", "--no-discover", "--server", "events"])
        .exits(2);
    assert_eq!(home.config(), "");
    let run = home
        .run(&[
            "import",
            "cursor",
            "--yes",
            "--no-discover",
            "--secrets",
            "refuse",
        ])
        .ok();
    assert!(
        run.stdout.contains("values that look like secrets"),
        "{}",
        run.stdout
    );
    assert!(!Path::new(&home.config_file()).exists());
}

#[test]
fn r_auth_06_a_server_of_the_old_sse_transport_is_imported_as_such() {
    let server = SseServer::start(SseScript::default());
    let home = Home::new();
    let entry = json!({"mcpServers": {"events": {"type": "sse", "url": server.url()}}});
    home.write("home/.cursor/mcp.json", &entry.to_string());
    let plan = home.run(&["import"]).ok().stdout;
    assert!(plan.contains("  type = sse"), "{plan}");
    let run = home.run(&["import", "--yes"]).ok();
    assert!(run.stdout.contains("✓ events  2 tools"), "{}", run.stdout);
    assert!(
        home.config().contains("type = \"sse\""),
        "{}",
        home.config()
    );
    home.run(&["call", "events/look"]).ok();
}
