//! `refresh`, `logs` and `doctor`.

use pegboard_testkit::script::{Malformed, Moment};
use pegboard_testkit::{Script, starts_in};
use serde_json::json;

use crate::support::Home;

#[test]
fn r_disc_08_refresh_reports_added_removed_and_changed_tools() {
    let home = Home::new();
    home.write(
        "tools.json",
        &recording(&[
            ("stays", "It stays."),
            ("goes", "It goes."),
            ("alters", "Old text."),
        ]),
    );
    let replay = pegboard_testkit::binary("pegboard-replay")
        .display()
        .to_string();
    home.add(
        "s",
        &replay,
        &[&home.path("tools.json").display().to_string()],
        "",
    );
    let first = home.run(&["refresh", "s", "--json"]).ok().json();
    assert_eq!(
        first["servers"][0]["delta"]["added"],
        json!(["alters", "goes", "stays"])
    );

    home.write(
        "tools.json",
        &recording(&[
            ("stays", "It stays."),
            ("comes", "It comes."),
            ("alters", "New text."),
        ]),
    );
    let fresh = home.run(&["refresh", "--all", "--json"]).ok().json();
    assert_eq!(
        fresh["servers"][0]["source"], "fresh",
        "a fresh list is not refreshed"
    );

    let second = home
        .run(&["refresh", "--all", "--force", "--json"])
        .ok()
        .json();
    let delta = &second["servers"][0]["delta"];
    assert_eq!(delta["added"], json!(["comes"]));
    assert_eq!(delta["removed"], json!(["goes"]));
    assert_eq!(delta["changed"][0]["name"], "alters");
    assert_eq!(delta["changed"][0]["fields"], json!(["description"]));
    assert_eq!(delta["unchanged"], 1);

    home.write("tools.json", &recording(&[("stays", "It stays.")]));
    let text = home.run(&["refresh", "s"]).ok().stdout;
    assert!(text.contains("    - alters\n    - comes\n"), "{text}");
}

fn recording(tools: &[(&str, &str)]) -> String {
    let tools = tools.iter().map(|(name, description)| {
        json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
    });
    json!({"tools": tools.collect::<Vec<_>>()}).to_string()
}

#[test]
fn r_disc_03_a_failed_refresh_keeps_the_tools_and_marks_them_stale() {
    let home = Home::new();
    home.write("tools.json", &recording(&[("kept", "Kept.")]));
    let replay = pegboard_testkit::binary("pegboard-replay")
        .display()
        .to_string();
    home.add(
        "s",
        &replay,
        &[&home.path("tools.json").display().to_string()],
        "",
    );
    home.run(&["refresh", "s"]).ok();
    std::fs::remove_file(home.path("tools.json")).expect("the recording is deleted");
    let failed = home.run(&["refresh", "s", "--json"]).exits(3).json();
    assert_eq!(failed["servers"][0]["error"]["reason"], "SERVER_EXITED");
    let show = home.run(&["show", "s", "--json"]).ok().json();
    assert_eq!(
        (&show["status"], &show["stale"]),
        (&json!("failed"), &json!(true))
    );
    assert_eq!(show["tools"], json!(["s__kept"]));
    let list = home.run(&["list"]).ok().stdout;
    assert!(list.contains("failed"), "{list}");
    let described = home.run(&["describe", "s/kept"]).ok().stdout;
    let stale = described.lines().find(|line| line.starts_with("stale: "));
    let stale = stale.unwrap_or_else(|| panic!("no mark: {described}"));
    assert!(
        stale.contains("cached ") && stale.contains(" ago; last refresh failed: "),
        "{stale}"
    );
    let described = home.run(&["describe", "s/kept", "--json"]).ok().json();
    let error = &described["failed_refresh"]["error"];
    assert_eq!(error["reason"], "SERVER_EXITED", "{described}");
}

#[test]
fn r_disc_09_an_empty_list_is_a_success_and_only_the_bad_tool_is_rejected() {
    let home = Home::new();
    home.add_script("empty", &Script::new(), "");
    let script = Script::new()
        .tools(["good"])
        .malformed(Malformed::NameNumber)
        .malformed(Malformed::NameMissing);
    home.add_script("mixed", &script, "");
    let run = home.run(&["refresh", "--all", "--json"]).ok().json();
    assert_eq!(run["failed"], 0);
    assert_eq!(run["servers"][0]["tools"], 0);
    assert_eq!(run["servers"][1]["tools"], 1);
    let rejected = run["servers"][1]["rejected"]
        .as_array()
        .expect("what was left out");
    assert_eq!(rejected.len(), 2, "{rejected:?}");
    let text = home.run(&["refresh", "mixed"]).ok().stdout;
    assert_eq!(text.matches("left out").count(), 2, "{text}");
}

#[test]
fn logs_are_printed_with_control_characters_escaped() {
    let home = Home::new();
    let script = home.write(
        "noisy.sh",
        "printf 'one\\ntwo \\033[2J\\nthree\\n' >&2; exit 4\n",
    );
    home.add("noisy", "sh", &[&script.display().to_string()], "");
    home.run(&["refresh", "noisy"]).exits(3);
    let run = home.run(&["logs", "noisy"]).ok();
    let texts: Vec<_> = run
        .stdout
        .lines()
        .filter_map(|line| line.get(21..))
        .collect();
    let expected = ["one", "two \\u{1b}[2J", "three"];
    assert!(texts.starts_with(&expected), "{}", run.stdout);
    let tail = home.run(&["logs", "noisy", "--tail", "1"]).ok();
    assert!(tail.stdout.ends_with("  three\n"), "{}", tail.stdout);
    assert_eq!(tail.stdout.lines().count(), 1);
    let json = home
        .run(&["logs", "noisy", "--json", "-n", "2"])
        .ok()
        .json();
    assert_eq!(json["lines"][0]["text"], "two \\u{1b}[2J");
    assert_eq!(json["lines"][1]["text"], "three");
}

#[test]
fn doctor_starts_a_server_and_names_what_is_wrong_and_what_to_do() {
    let home = Home::new();
    let count = home.path("count");
    home.add_script("fine", &Script::new().tools(["a"]).count_in(&count), "");
    let late = Script::new().hang(Moment::List);
    home.add_script("late", &late, "discovery_timeout = \"500ms\"");
    let run = home.run(&["doctor", "--json"]).exits(3);
    let checks = run.json()["checks"].clone();
    let check = |name: &str| {
        let all = checks.as_array().expect("a list").iter();
        all.clone()
            .find(|check| check["check"] == name)
            .cloned()
            .expect("the check is there")
    };
    assert_eq!(check("server fine")["ok"], true);
    assert_eq!(check("server late")["ok"], false);
    let detail = check("server late")["detail"].to_string();
    assert!(detail.contains("DISCOVERY_TIMEOUT"), "{detail}");
    assert!(
        check("server late")["remedy"]
            .to_string()
            .contains("discovery_timeout")
    );
    assert_eq!(starts_in(&count).len(), 1);
    home.run(&["doctor", "fine"]).ok();
    home.assert_nothing_runs();
}

#[test]
fn r_store_04_clear_forgets_stored_tools_after_a_confirmation() {
    let home = Home::with_example();
    home.add_example("second");
    home.run(&["refresh", "--all"]).ok();
    let statuses = || -> Vec<(String, u64)> {
        let listed = home.run(&["list", "--json"]).ok().json();
        let rows = listed["servers"].as_array().unwrap().iter();
        rows.map(|row| {
            let status = row["status"].as_str().unwrap().to_owned();
            (status, row["tools"].as_u64().unwrap())
        })
        .collect()
    };
    let known = || ("success".to_owned(), 16);
    let unknown = || ("never".to_owned(), 0);
    let refused = home.run(&["clear", "example"]).exits(1);
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(statuses(), [known(), known()]);
    let cleared = home.run(&["clear", "example", "--yes", "--json"]).ok();
    assert_eq!(cleared.json(), json!({"cleared": 1}));
    assert_eq!(statuses(), [unknown(), known()]);
    let again = home.run(&["clear", "example", "--yes", "--json"]).ok();
    assert_eq!(again.json(), json!({"cleared": 0}));
    let all = home.run(&["clear", "--yes"]).ok();
    assert!(
        all.stderr.contains("deleted 1 stored list"),
        "{}",
        all.stderr
    );
    assert_eq!(statuses(), [unknown(), unknown()]);
    home.run(&["clear", "exampel", "--yes"]).exits(7);
    home.run(&["refresh", "example"]).ok();
    assert_eq!(statuses(), [known(), unknown()]);
}

#[test]
fn r_cfg_08_list_as_json_has_the_command_with_secrets_masked() {
    let home = Home::new();
    home.add(
        "local",
        "npx",
        &["-y", "pkg", "--token", "hush-hush-hush"],
        "",
    );
    let url = "url = \"https://user:hush-hush-hush@example.com/mcp\"";
    let remote = format!("{}[servers.remote]\n{url}\n", home.config());
    home.write("config/config.toml", &remote);
    let run = home.run(&["list", "--json"]).ok();
    assert!(!run.stdout.contains("hush-hush"), "{}", run.stdout);
    let rows = run.json()["servers"].clone();
    let command = |at: usize| rows[at]["command"].as_str().unwrap().to_owned();
    assert!(command(0).starts_with("npx -y pkg --token "), "{rows}");
    assert!(command(1).contains("example.com/mcp"), "{rows}");
}
