//! A state folder that cannot be written: a full disk, a read-only file system, a folder that was deleted.
//!
//! Each program runs in its own mount namespace, in which the state directory is another file system. This needs no
//! privileges on systems with unprivileged user namespaces.

use std::fs;
use std::process::Command;

use pegboard_testkit::Script;
use serde_json::{Value, json};

use crate::api::client::Served;
use crate::support::{EXAMPLE_TOOLS, Home, PEGBOARD, Run, Running, http, mcp};

/// Mounts a full file system.
const FULL: &str = "mount -t tmpfs -o size=32k none \"$PEGBOARD_STATE_DIR\" \
                    && { head -c 64k /dev/zero > \"$PEGBOARD_STATE_DIR/filler\" || true; } 2>/dev/null";
/// Makes the directory read-only.
const READ_ONLY: &str = "mount --bind \"$PEGBOARD_STATE_DIR\" \"$PEGBOARD_STATE_DIR\" \
                         && mount -o remount,bind,ro \"$PEGBOARD_STATE_DIR\"";

/// Returns true if mounting is permitted; otherwise prints why the test is skipped.
#[expect(clippy::disallowed_methods, reason = "the system's own `unshare`")]
fn can_mount() -> bool {
    let mounted = Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /tmp"])
        .output();
    let can = mounted.is_ok_and(|output| output.status.success());
    if !can {
        println!("skipped: this system does not let the test mount a file system of its own");
    }
    can
}

/// Returns the command with a state directory on which `mount` was run.
#[expect(clippy::disallowed_methods, reason = "starts the program under test")]
fn command(home: &Home, mount: &str, args: &[&str]) -> Command {
    fs::create_dir_all(home.state()).expect("the state folder");
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let mut command = Command::new("unshare");
    command
        .args(["-rm", "sh", "-c", &script, PEGBOARD])
        .args(args)
        .env_clear()
        .envs(home.environment())
        .current_dir(home.path("project"));
    command
}

fn run(home: &Home, mount: &str, args: &[&str]) -> Run {
    Run::of(command(home, mount, args), "")
}

#[test]
fn r_store_05_lists_not_stored_because_of_a_full_disk_are_reported() {
    if !can_mount() {
        return;
    }
    let home = Home::new();
    home.add_example("one");
    home.add_example("two");
    let refreshed = run(&home, FULL, &["refresh", "--all", "--json"]).exits(1);
    let document = refreshed.json();
    assert_eq!(document["failed"], 0, "{document}");
    assert_eq!(document["not_stored"], 2, "{document}");
    for server in document["servers"].as_array().unwrap() {
        assert_eq!(server["status"], "success", "{server}");
        assert_eq!(server["tools"], EXAMPLE_TOOLS, "{server}");
        assert_eq!(server["not_stored"]["reason"], "STORE_IO", "{server}");
    }

    let refreshed = run(&home, FULL, &["refresh", "--all"]).exits(1);
    assert!(refreshed.stdout.contains("not stored:"), "{refreshed:?}");
    let summary = "2 servers, 0 failed, 2 not stored";
    assert!(refreshed.stderr.contains(summary), "{refreshed:?}");

    let doctor = run(&home, FULL, &["doctor", "--json"]).exits(1).json();
    let checks = doctor["checks"].as_array().unwrap();
    let check = |name: &str| checks.iter().find(|check| check["check"] == name).unwrap();
    for name in ["state folder", "server one", "server two"] {
        assert_eq!(check(name)["ok"], false, "{doctor}");
    }
    let listed = run(&home, FULL, &["tools", "--json"]).ok().json();
    assert_eq!(listed["total"], 2 * EXAMPLE_TOOLS, "served from memory");
}

#[test]
fn r_store_05_stored_data_can_be_read_in_a_read_only_folder() {
    if !can_mount() {
        return;
    }
    let home = Home::with_example();
    let listed = run(&home, READ_ONLY, &["list", "--json"]).ok();
    assert_eq!(listed.json()["servers"][0]["tools"], EXAMPLE_TOOLS);
    assert!(listed.stderr.contains("can only be read"), "{listed:?}");
    let tools = run(&home, READ_ONLY, &["tools", "--json"]).ok().json();
    assert_eq!(tools["total"], EXAMPLE_TOOLS);
    let name = tools["tools"][0]["name"].as_str().unwrap();
    run(&home, READ_ONLY, &["describe", name]).ok();
    let found = run(&home, READ_ONLY, &["search", "add numbers"]).ok();
    assert!(found.stdout.contains("example"), "{found:?}");
    run(&home, READ_ONLY, &["logs", "example"]).ok();
    run(&home, READ_ONLY, &["activity"]).ok();
    let refreshed = run(&home, READ_ONLY, &["refresh", "example", "--json"]).exits(1);
    assert_eq!(refreshed.json()["not_stored"], 1);
    let files = |suffix: &str| {
        let entries = fs::read_dir(home.state()).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.contains(suffix)).count()
    };
    assert_eq!(files("damaged"), 0, "a sound store was not set aside");
    let after = home.run(&["list", "--json"]).ok().json();
    assert_eq!(after["servers"][0]["tools"], EXAMPLE_TOOLS);
}

#[test]
fn r_store_05_serve_starts_with_a_token_that_cannot_be_stored() {
    if !can_mount() {
        return;
    }
    for mount in [FULL, READ_ONLY] {
        let home = Home::new();
        home.add_example("example");
        let mut served = Running::of(command(&home, mount, &["serve", "--port", "0", "--json"]));
        let greeting = served.json();
        assert_eq!(greeting["token_file"], Value::Null, "{greeting}");
        let (url, token) = (&greeting["url"], &greeting["token"]);
        let (url, token) = (url.as_str().unwrap(), token.as_str().unwrap());
        let call = json!({"name": "example__add_numbers", "arguments": {"a": 1, "b": 2}});
        let (status, response) = mcp(url, token, "tools/call", call);
        assert_eq!(status, 200, "{response}");
        assert!(response["result"].is_object(), "{response}");
        let (status, _) = mcp(url, "wrong", "tools/list", json!({}));
        assert_eq!(status, 401);
        served.wait_for("not stored");
        served.signal("-TERM");
        assert!(served.wait().success());
        home.assert_nothing_runs();
    }
}

#[test]
fn r_store_05_a_deleted_state_folder_is_recreated() {
    let home = Home::new();
    let script = Script::new().tools(["a", "b", "c"]);
    home.add_script("s", &script, "");
    let served = Served::start(&home, &[]);
    fs::remove_dir_all(home.state()).unwrap();
    let (status, refreshed) = served.admin("POST", "/servers/s/refresh", &Value::Null);
    assert_eq!(status, 200, "{refreshed}");
    assert_eq!(refreshed["notStored"], Value::Null, "{refreshed}");
    let listed = home.run(&["list", "--json"]).ok();
    assert_eq!(listed.json()["servers"][0]["tools"], 3, "{listed:?}");
    let health = format!("{}/healthz", served.url);
    assert_eq!(http(&health, "GET", &[], "").0, 200);
    served.end(&home);
}
