//! `connect` and `disconnect`: the files of clients in the user's home folder.

use serde_json::json;

use crate::support::{Home, PEGBOARD};

const CURSOR: &str = "{\n  // mine\n  \"mcpServers\": {\n    \"example\": {\"command\": \"PROGRAM\", \"args\": [\"example-server\"]},\n    \"other\": {\"command\": \"x\", \"env\": {\"TOKEN\": \"canary\"}}\n  }\n}\n";

fn home() -> (Home, String) {
    let home = Home::new();
    home.add_example("example");
    let text = CURSOR.replace("PROGRAM", PEGBOARD);
    home.write("home/.cursor/mcp.json", &text);
    (home, text)
}

fn file(home: &Home) -> String {
    std::fs::read_to_string(home.path("home/.cursor/mcp.json")).expect("the client's file")
}

#[test]
fn r_cfg_07_connect_shows_writes_and_undoes_a_change() {
    let (home, before) = home();
    let shown = home.run(&["connect", "cursor", "--dry-run"]).ok();
    assert!(
        shown.stdout.contains("+    \"pegboard\": {"),
        "{}",
        shown.stdout
    );
    assert!(!shown.stdout.contains("canary"), "{}", shown.stdout);
    assert_eq!(file(&home), before);
    let refused = home.run(&["connect", "cursor"]).exits(2);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(file(&home), before);
    let done = home
        .run(&["connect", "cursor", "--take-over", "--yes"])
        .ok();
    assert!(
        done.stderr.contains("now through Pegboard only: example"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("still direct: other"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.contains("pegboard disconnect cursor"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("build folder"), "{}", done.stderr);
    let after = file(&home);
    assert!(
        after.contains("// mine") && after.contains("PEGBOARD_STATE_DIR"),
        "{after}"
    );
    assert!(!after.contains("example-server"), "{after}");
    let again = home
        .run(&["connect", "cursor", "--take-over", "--yes"])
        .ok();
    assert!(
        again.stderr.contains("connected already"),
        "{}",
        again.stderr
    );
    assert_eq!(file(&home), after);
    let undone = home.run(&["disconnect", "cursor", "--yes"]).ok();
    assert!(undone.stderr.contains("byte for byte"), "{}", undone.stderr);
    assert_eq!(file(&home), before);
    let nothing = home.run(&["disconnect", "cursor"]).ok();
    assert!(
        nothing.stderr.contains("is not connected"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn r_cfg_07_the_status_of_every_client_is_shown() {
    let (home, _) = home();
    home.write("home/.codex/config.toml", "broken = [");
    home.run(&["connect", "cursor", "zed", "--yes"]).ok();
    let status = home.run(&["connect", "--status", "--json"]).ok().json();
    let state = |key: &str| {
        let all = status.as_array().expect("a list").iter();
        all.clone()
            .find(|status| status["client"] == key)
            .expect("the client")
            .clone()
    };
    assert_eq!(state("cursor")["state"], "both");
    assert_eq!(state("cursor")["direct"], json!(["example", "other"]));
    assert_eq!(state("cursor")["entry"]["is_other_program"], false);
    assert_eq!(state("zed")["state"], "through_pegboard");
    assert_eq!(state("codex")["state"], "unreadable");
    assert_eq!(state("goose")["state"], "not_installed");
    let shown = home.run(&["connect", "--status", "cursor", "codex"]).ok();
    assert!(
        shown.stdout.contains("both") && shown.stdout.contains("unreadable"),
        "{}",
        shown.stdout
    );
    assert!(shown.stderr.contains("config.toml:1"), "{}", shown.stderr);
    let done = home
        .run(&["disconnect", "--all", "--yes", "--json"])
        .ok()
        .json();
    assert_eq!(done.as_array().map(Vec::len), Some(2), "{done}");
    assert!(!home.path("home/.config").exists());
}

#[test]
fn r_cfg_07_all_connects_installed_clients_and_reports_each_failure() {
    let (home, before) = home();
    home.write("home/.codex/config.toml", "broken = [");
    home.write("home/.gemini/settings.json", "{}");
    let run = home.run(&["connect", "--all", "--yes", "--json"]).exits(2);
    let clients = run.json();
    let keys: Vec<_> = clients
        .as_array()
        .expect("a list")
        .iter()
        .map(|c| &c["client"])
        .collect();
    assert_eq!(keys, ["cursor", "gemini"]);
    assert!(run.stderr.contains("config.toml:1"), "{}", run.stderr);
    assert!(!home.path("home/.config").exists());
    home.run(&["disconnect", "--all", "--yes"]).ok();
    assert_eq!(file(&home), before);
}

#[test]
fn r_cfg_07_http_writes_the_url_and_the_token() {
    let (home, _) = home();
    let token = home.run(&["token"]).ok().stdout;
    // A client with a profile that does not exist would only see a server that does not start.
    let unknown = home.run(&["connect", "cursor", "--profile", "work", "--yes"]);
    assert!(unknown.exits(7).stderr.contains("PROFILE_UNKNOWN"));
    let config = format!("{}\n[profiles.work]\nmode = 'direct'\n", home.config());
    home.write("config/config.toml", &config);
    let shown = home
        .run(&[
            "connect",
            "cursor",
            "codex",
            "--http",
            "--profile",
            "work",
            "--yes",
        ])
        .ok();
    assert!(!shown.stdout.contains(token.trim()) && !shown.stderr.contains(token.trim()));
    assert!(
        shown.stderr.contains("set PEGBOARD_TOKEN"),
        "{}",
        shown.stderr
    );
    let text = file(&home);
    assert!(text.contains("http://127.0.0.1:7340/mcp/work"), "{text}");
    assert!(text.contains(token.trim()), "{text}");
    let codex = std::fs::read_to_string(home.path("home/.codex/config.toml")).expect("a file");
    assert!(
        codex.contains("bearer_token_env_var = \"PEGBOARD_TOKEN\""),
        "{codex}"
    );
    assert!(
        codex.contains("default_tools_approval_mode = \"approve\""),
        "{codex}"
    );
    let refused = home
        .run(&["connect", "claude-desktop", "--http", "--yes"])
        .exits(2);
    assert!(
        refused.stderr.contains("supports no URL"),
        "{}",
        refused.stderr
    );
    let unknown = home.run(&["connect", "cursr"]).exits(2);
    assert!(
        unknown.stderr.contains("did you mean cursor"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn r_cfg_07_pegboard_does_not_become_a_server_of_itself() {
    let (home, _) = home();
    for (client, path) in [
        ("cursor", "home/.cursor/mcp.json"),
        ("claude-code", "home/.claude.json"),
    ] {
        home.run(&["connect", client, "--yes"]).ok();
        let file = home.path(path).display().to_string();
        let listed = home.run(&["--config", &file, "list", "--json"]).ok().json();
        let names: Vec<_> = listed["servers"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|s| &s["name"])
            .collect();
        assert!(!names.contains(&&json!("pegboard")), "{names:?}");
    }
}
