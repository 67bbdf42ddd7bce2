//! `remove`, `enable`, `disable`, `edit`: only the intended part of the file changes.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Home, PEGBOARD};

const WRITTEN: &str = r#"# My servers.
[settings]
ttl = "10m" # rather long

# The first one.
[servers.zeta]
command = "PROGRAM"
args = [
  "example-server", # the built-in one
]

[servers.alpha] # kept for later
command = "PROGRAM"
args = ["example-server"]
enabled = false
# The end.
"#;

fn home() -> (Home, String) {
    let home = Home::new();
    let written = WRITTEN.replace("PROGRAM", PEGBOARD);
    home.write("config/config.toml", &written);
    (home, written)
}

#[test]
fn r_cfg_06_edits_keep_comments_order_and_everything_else() {
    let (home, written) = home();
    home.run(&["disable", "zeta"]).ok();
    home.run(&["enable", "alpha"]).ok();
    home.run(&["edit", "zeta", "discovery_timeout", "2m"]).ok();
    home.run(&["edit", "zeta", "description", "Things & more"])
        .ok();
    let after = home.config();
    let kept = written.lines().filter(|line| !line.starts_with("enabled"));
    let mut rest = after.as_str();
    for line in kept {
        let at = rest
            .find(line)
            .unwrap_or_else(|| panic!("`{line}` is lost or moved:\n{after}"));
        rest = &rest[at + line.len()..];
    }
    assert!(after.contains("discovery_timeout = \"2m\""), "{after}");
    assert!(after.contains("description = \"Things & more\""), "{after}");
    assert!(after.contains("enabled = true"), "{after}");
    home.run(&["config", "check"]).ok();

    home.run(&["remove", "zeta"]).ok();
    let after = home.config();
    assert!(!after.contains("zeta"), "{after}");
    assert!(
        after.contains("[servers.alpha] # kept for later"),
        "{after}"
    );
    assert!(after.contains("ttl = \"10m\" # rather long"), "{after}");
    assert!(after.starts_with("# My servers.\n"), "{after}");
}

#[test]
fn r_disc_10_a_disabled_servers_tools_leave_and_come_back_without_a_start() {
    let (home, _) = home();
    home.run(&["refresh", "zeta"]).ok();
    home.run(&["disable", "zeta"]).ok();
    assert_eq!(home.run(&["tools", "--json"]).ok().json()["total"], 0);
    home.run(&["call", "zeta/echo", "text=x"]).exits(6);
    home.run(&["enable", "zeta"]).ok();
    assert_eq!(home.run(&["tools", "--json"]).ok().json()["total"], 16);
}

#[test]
fn an_edit_that_would_break_the_server_is_refused() {
    let (home, written) = home();
    for (key, value) in [
        ("discovery_timeout", "soon"),
        ("enabled", "3"),
        ("args", "7"),
    ] {
        home.run(&["edit", "zeta", key, value]).exits(2);
    }
    home.run(&["edit", "zta", "ttl", "1m"]).exits(7);
    assert_eq!(home.config(), written);
}

#[test]
fn an_edit_without_effect_is_reported() {
    let (home, _) = home();
    let run = home.run(&["edit", "zeta", "discovery_timout", "2m"]).ok();
    assert!(run.stderr.contains("CONFIG_UNKNOWN_KEY"), "{}", run.stderr);
    assert!(run.stderr.contains("discovery_timeout"), "{}", run.stderr);
}

#[test]
fn r_cfg_06_a_broken_server_can_be_removed_and_a_broken_file_is_left_alone() {
    let home = Home::with_example();
    let good = home.config();
    home.write(
        "config/config.toml",
        &format!("{good}\n[servers.bad]\nurl = 3\n"),
    );
    home.run(&["remove", "bad"]).ok();
    assert_eq!(home.config().trim(), good.trim());
    let broken = format!("{good}\n[[[\n");
    home.write("config/config.toml", &broken);
    let run = home.run(&["add", "more", "--", "x"]).exits(2);
    assert!(run.stderr.contains("config.toml:6:3: "), "{}", run.stderr);
    assert_eq!(home.config(), broken);
}

#[test]
fn the_config_file_that_add_creates_is_private() {
    let home = Home::new();
    home.run(&["add", "a", "--no-discover", "-e", "K=v", "--", "x"])
        .ok();
    let mode = std::fs::metadata(home.config_file())
        .expect("the file is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn removing_a_server_deletes_its_stored_data() {
    let home = Home::with_example();
    let status = || home.run(&["show", "example", "--json"]).ok().json()["status"].clone();
    assert_eq!(status(), "success");
    home.run(&["remove", "example"]).ok();
    let again = [
        "add",
        "example",
        "--no-discover",
        "--",
        PEGBOARD,
        "example-server",
    ];
    home.run(&again).ok();
    assert_eq!(status(), "never");
}

#[test]
fn r_cfg_03_enable_says_that_a_variable_disables_the_server_and_changes_nothing() {
    let mut home = Home::with_example();
    home.set("EXAMPLE_MCP_ENABLED", "false");
    let before = home.config();
    let run = home.run(&["call", "example/echo", "text=hi"]).exits(6);
    for words in [
        "server `example` is disabled by the environment variable `EXAMPLE_MCP_ENABLED`",
        "Unset `EXAMPLE_MCP_ENABLED` or set it to `true`",
    ] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    let run = home.run(&["enable", "example"]).exits(6);
    assert!(run.stderr.contains("EXAMPLE_MCP_ENABLED"), "{}", run.stderr);
    assert!(!run.stderr.contains("enabled server"), "{}", run.stderr);
    assert_eq!(home.config(), before);
    let run = home.run(&["refresh", "example"]).exits(6);
    assert!(run.stdout.contains("EXAMPLE_MCP_ENABLED"), "{}", run.stdout);
    // The value of the variable can be written to the file, so that it stays without the variable.
    home.run(&["disable", "example"]).ok();
    assert!(home.config().contains("enabled = false"));
}

#[test]
fn r_cfg_06_removing_the_last_server_leaves_a_file_that_is_not_empty() {
    let home = Home::with_example();
    home.run(&["remove", "example"]).ok();
    assert_eq!(home.config(), "# Pegboard configuration\n");
    let run = home.run(&["config", "check"]).ok();
    assert!(run.stderr.contains("0 problems"), "{}", run.stderr);
}
