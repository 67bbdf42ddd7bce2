//! `up` applies changes of the config file.

use pegboard_testkit::Script;

use super::serving::open_session;
use crate::support::{Home, toml_server};

fn table(name: &str, tool: &str) -> String {
    let (command, args) = Script::new().tools([tool]).stdio_command();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    toml_server(name, &command, &args, "")
}

#[test]
fn r_cfg_01_up_picks_up_new_changed_and_removed_servers_however_the_file_is_saved() {
    let home = Home::new();
    let (one, two) = (table("one", "work"), table("two", "rest"));
    home.write("config/config.toml", &one);
    let mut up = home.start(&["up"]);
    open_session(&home, &up);
    up.wait_for("✓ one: 1 tool");

    home.write("config/config.toml", &format!("{one}{two}"));
    up.wait_for("config: new two");
    up.wait_for("✓ two: 1 tool");

    // An editor that writes a temporary file and renames it.
    let three = table("three", "play");
    let beside = home.write("config/.config.toml.swp", &format!("{one}{two}{three}"));
    std::fs::rename(beside, home.config_file()).expect("renamed over the file");
    up.wait_for("config: new three");
    up.wait_for("✓ three: 1 tool");

    // Another process over the same store sees it without a start.
    assert_eq!(home.run(&["tools", "--json"]).ok().json()["total"], 3);

    home.run(&["remove", "two"]).ok();
    up.wait_for("config: removed two");
    home.write("config/config.toml", &table("one", "other"));
    up.wait_for("config: redefined one");
    up.signal("-TERM");
    assert!(up.wait().success());
    home.assert_nothing_runs();
}

#[test]
fn r_cfg_04_a_file_saved_half_written_changes_nothing() {
    let home = Home::new();
    let one = table("one", "work");
    home.write("config/config.toml", &one);
    let mut up = home.start(&["up"]);
    open_session(&home, &up);
    up.wait_for("✓ one: 1 tool");
    home.write("config/config.toml", &format!("{one}[servers.tw"));
    up.wait_for("config.toml:5:");
    up.wait_for("not applied until the file can be read");
    home.write(
        "config/config.toml",
        &format!("{one}{}", table("two", "rest")),
    );
    up.wait_for("config: new two");
    assert!(!up.output().contains("removed"), "{}", up.output());
    up.signal("-TERM");
    up.wait();
}

#[test]
fn up_without_a_server_runs_the_example_and_adds_it_on_request() {
    let home = Home::new();
    let mut up = home.start(&["up"]);
    open_session(&home, &up);
    up.wait_for("✓ example: 16 tools");
    assert!(
        up.output().contains("pegboard up --example"),
        "{}",
        up.output()
    );
    up.signal("-INT");
    assert!(up.wait().success());
    assert_eq!(home.config(), "");
    home.run(&["up", "--example", "--once"]).ok();
    assert!(
        home.config().contains("[servers.example]"),
        "{}",
        home.config()
    );
    home.assert_nothing_runs();
}

#[test]
fn trust_granted_in_another_process_starts_the_pending_server_at_once() {
    let home = Home::with_example();
    let (command, args) = Script::new().tools(["work"]).stdio_command();
    let file = serde_json::json!({"mcpServers": {"theirs": {"command": command, "args": args}}});
    home.write("project/.mcp.json", &file.to_string());
    let mut up = home.start(&["up"]);
    up.wait_for("Press Ctrl-C to stop.");
    home.run(&["trust", "theirs", "--yes"]).ok();
    up.wait_for("✓ theirs: 1 tool");
    up.signal("-TERM");
    assert!(up.wait().success());
    home.assert_nothing_runs();
}

#[test]
fn r_cfg_01_an_emptied_file_changes_nothing_until_it_is_written_again() {
    let home = Home::new();
    let (one, two) = (table("one", "work"), table("two", "rest"));
    home.write("config/config.toml", &one);
    let mut up = home.start(&["up"]);
    open_session(&home, &up);
    up.wait_for("✓ one: 1 tool");
    home.write("config/config.toml", "");
    up.wait_for("config.toml` is empty");
    up.wait_for("not applied until the file can be read");
    home.write("config/config.toml", &format!("{one}{two}"));
    up.wait_for("config: new two");
    assert!(!up.output().contains("removed"), "{}", up.output());
    let check = home.write("config/config.toml", " \n");
    let run = home.run(&["config", "check"]).ok();
    let expected = format!("`{}` is empty", check.display());
    assert!(run.stdout.contains(&expected), "{}", run.stdout);
    assert!(run.stderr.contains("1 problem"), "{}", run.stderr);
    up.signal("-TERM");
    assert!(up.wait().success());
}

#[test]
fn r_cfg_01_deleting_a_file_removes_its_servers() {
    let home = Home::new();
    home.write("config/config.toml", &table("one", "work"));
    let mut up = home.start(&["up"]);
    open_session(&home, &up);
    up.wait_for("✓ one: 1 tool");
    std::fs::remove_file(home.config_file()).unwrap();
    up.wait_for("config: removed one");
    up.signal("-TERM");
    assert!(up.wait().success());
}

#[test]
fn r_cfg_04_a_pipe_in_place_of_a_file_is_reported_and_serve_continues() {
    let home = Home::new();
    let (one, two) = (table("one", "work"), table("two", "rest"));
    home.write("config/config.toml", &one);
    let mut serve = home.start(&["serve", "--port", "0"]);
    super::serving::endpoint(&serve);
    let file = home.config_file();
    std::fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RWXU).unwrap();
    serve.wait_for("config.toml` is a named pipe");
    let run = home.run(&["config", "check"]).exits(2);
    assert!(run.stdout.contains("is a named pipe"), "{}", run.stdout);
    let beside = home.write("config/new", &format!("{one}{two}"));
    std::fs::rename(beside, &file).unwrap();
    serve.wait_for("config: new two");
    let secrets = home.state().join("secrets.json");
    rustix::fs::mkfifoat(rustix::fs::CWD, &secrets, rustix::fs::Mode::RWXU).unwrap();
    let run = home.run_with_input(&["secret", "set", "x"], "value");
    let run = run.exits(2);
    assert!(run.stderr.contains("is a named pipe"), "{}", run.stderr);
    serve.signal("-TERM");
    assert!(serve.wait().success());
    home.assert_nothing_runs();
}
