//! The dashboard in a real browser, driven through every screen of the real program. Each test starts
//! Pegboard and a script of `pages/`, which fails on any error of a page, on anything that its policy refuses and on
//! any request to another host. `scripts/install-test-env` installs what is needed into the directory that
//! `PEGBOARD_TEST_ENV` names; without it each test is skipped with a message.
//!
//! Screenshots are written to the directory that `PEGBOARD_ARTEFACTS` names, else to `screenshots` in the target
//! directory.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "failing tests panic with a message"
)]

#[path = "../cli/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    reason = "the fixtures are shared with the command line tests, which use more of them"
)]
mod support;

mod browser;

use browser::BrowserSession;
use pegboard_testkit::{binary, tool_json};
use serde_json::{Value, json};
use support::{Home, PEGBOARD};

/// The number of tools of each large server, which is the limit.
const MANY: usize = 2_000;

#[test]
fn r_api_07_first_login_to_approved_call() {
    let Some(session) = BrowserSession::here(Home::new()) else {
        return;
    };
    session.drive("journey.mjs", &json!({}));
}

#[test]
fn r_api_07_every_screen_looks_right_in_light_dark_and_narrow() {
    let home = Home::new();
    // The pending call is shown in all of them.
    home.write(
        "config/config.toml",
        "[settings]\napproval_timeout = \"30m\"\n\n",
    );
    home.add(
        "example",
        PEGBOARD,
        &["example-server"],
        "description = \"Small built-in tools\"\n",
    );
    home.add("broken", "false", &["--never-answers"], "");
    home.add("spare", PEGBOARD, &["example-server"], "enabled = false\n");
    home.add(
        "asking",
        PEGBOARD,
        &["example-server"],
        "policy = \"ask\"\npolicies = { \"note_*\" = \"deny\" }\n",
    );
    let theirs = json!({"mcpServers": {"theirs": {
        "command": PEGBOARD, "args": ["example-server"],
        "env": {"BASH_ENV": ".lint.sh", "OUT": "${HOME}"},
    }}});
    home.write("project/.mcp.json", &theirs.to_string());
    let cursor = json!({"mcpServers": {
        "files": {"command": PEGBOARD, "args": ["example-server"], "env": {"API_TOKEN": "sk-canary-9f8e7d6c5b4a39281706"}},
        "remote": {"url": "https://mcp.example.com/mcp"},
        "odd": {"command": 7},
    }});
    home.write("home/.cursor/mcp.json", &cursor.to_string());
    home.write("home/.codex/config.toml", "broken = [");
    home.run(&["refresh", "--all"]);
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    session.drive("screens.mjs", &json!({}));
}

#[test]
fn r_ui_01_a_double_click_approves_one_call() {
    let home = Home::new();
    home.add(
        "asking",
        PEGBOARD,
        &["example-server"],
        "policy = \"ask\"\n",
    );
    home.run(&["refresh", "--all"]);
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    session.drive("double_click.mjs", &json!({}));
}

#[test]
fn r_ui_01_a_tool_is_not_run_with_empty_required_fields() {
    let home = Home::new();
    let replay = binary("pegboard-replay").display().to_string();
    let text = json!({ "type": "string", "description": "A short text" });
    let options = json!({ "type": "object", "properties": { "mode": text }, "required": ["mode"] });
    let post = json!({
        "name": "post",
        "description": "Posts a message.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "channel_id": text,
                "text": text,
                "count": { "type": "integer" },
                "options": options,
                "tags": { "type": "array", "items": text },
            },
            "required": ["channel_id", "text", "count"],
        },
    });
    let file = home.write("chat.json", &json!({ "tools": [post] }).to_string());
    home.add("chat", &replay, &[&file.display().to_string()], "");
    home.run(&["refresh", "--all"]);
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    session.drive("required.mjs", &json!({}));
}

#[test]
fn r_ui_02_a_server_that_cannot_start_says_why() {
    let home = Home::new();
    home.write(
        "config/config.toml",
        "[servers.example]\ncommand = \"pegboard\"\nargs = 7\n",
    );
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    session.drive("add_server.mjs", &json!({}));
}

#[test]
fn r_ui_02_many_tabs_share_one_stream_of_events() {
    let Some(session) = BrowserSession::here(Home::with_example()) else {
        return;
    };
    session.drive("tabs.mjs", &json!({}));
}

#[test]
fn r_ui_02_a_page_survives_a_restart_and_an_expired_login_leads_to_the_login_page() {
    let Some(session) = BrowserSession::here(Home::with_example()) else {
        return;
    };
    session.drive("restart.mjs", &json!({}));
}

#[test]
fn r_api_07_the_keyboard_is_enough() {
    let Some(session) = BrowserSession::here(Home::with_example()) else {
        return;
    };
    session.drive("keyboard.mjs", &json!({}));
}

#[test]
fn r_cfg_07_servers_are_imported_and_a_client_is_connected_and_restored() {
    let home = Home::new();
    let secret = "ghp_canary0123456789canary0123456789canary";
    let example = |env: Value| json!({"command": PEGBOARD, "args": ["example-server"], "env": env});
    let servers = json!({
        "files": example(json!({"PLACE": "files"})),
        "notes": example(json!({"API_TOKEN": secret})),
        "weather": example(json!({"PLACE": "weather"})),
    });
    let text = format!("{:#}\n", json!({"mcpServers": servers}));
    let cursor = home.write("home/.cursor/mcp.json", &text);
    let theirs = json!({"mcpServers": {"theirs": example(json!({}))}});
    home.write("project/.cursor/mcp.json", &theirs.to_string());
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    let config = session.home.config_file();
    session.drive(
        "clients.mjs",
        &json!({"cursor": cursor, "config": config, "secret": secret}),
    );
}

#[test]
fn r_share_01_clients_of_all_projects_and_the_servers_that_they_share_are_shown() {
    let home = Home::with_example();
    let folders = ["one", "two"].map(|name| {
        let file = home.write(&format!("{name}/.mcp.json"), "{}");
        let folder = file.parent().expect("a folder");
        folder.display().to_string()
    });
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    // One instance for each of the two projects, and one for the project of the HTTP client.
    session.drive(
        "running.mjs",
        &json!({ "folders": folders, "instances": 3 }),
    );
}

#[test]
fn r_api_01_ten_thousand_tools_stay_a_short_page() {
    let home = Home::new();
    let replay = binary("pegboard-replay").display().to_string();
    for server in 0..5 {
        let tools: Vec<Value> = (0..MANY)
            .map(|n| tool_json(&format!("tool_{server}_{n:04}")))
            .collect();
        let file = home.write(
            &format!("many{server}.json"),
            &json!({ "tools": tools }).to_string(),
        );
        home.add(
            &format!("many{server}"),
            &replay,
            &[&file.display().to_string()],
            "",
        );
    }
    let Some(session) = BrowserSession::here(home) else {
        return;
    };
    session.home.run(&["refresh", "--all"]).ok();
    session.drive("many.mjs", &json!({ "tools": 5 * MANY }));
}
