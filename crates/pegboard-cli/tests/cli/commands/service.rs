//! `pegboard service`, with a `systemctl` that records what it is asked.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::{Home, files_below};

const SYSTEMCTL: &str = r#"#!/bin/sh
folder=$(dirname "$0")
shift
echo "$@" >> "$folder/asked"
[ -e "$folder/fails" ] && { echo "no bus" >&2; exit 1; }
case "$1" in
  enable) touch "$folder/active" ;;
  disable) rm -f "$folder/active" ;;
  is-active) [ -e "$folder/active" ] && echo active || { echo inactive; exit 3; } ;;
esac
"#;

/// A home with a running systemd of the user, as far as Pegboard can see.
fn home_with_systemd() -> Home {
    let mut home = Home::new();
    let program = home.write("bin/systemctl", SYSTEMCTL);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(program, mode).expect("an executable");
    home.write("run/systemd/private", "");
    home.set("XDG_RUNTIME_DIR", &home.path("run").display().to_string());
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    home.set("PATH", &path);
    home
}

fn units(home: &Home) -> [PathBuf; 2] {
    let folder = home.path("home/.config/systemd/user");
    ["pegboard.socket", "pegboard.service"].map(|name| folder.join(name))
}

fn asked(home: &Home) -> String {
    std::fs::read_to_string(home.path("bin/asked")).unwrap_or_default()
}

#[test]
fn r_share_01_the_service_is_installed_and_uninstalled_without_a_trace() {
    let home = home_with_systemd();
    home.run(&["service", "status"]).exits(3);
    let foreign = home.write("home/.config/systemd/user/other.service", "[Unit]\n");
    let before = files_below(&home.path("home"));
    home.run(&["service", "install", "--dry-run"]).ok();
    assert_eq!(
        files_below(&home.path("home")),
        before,
        "nothing is written"
    );
    let installed = home.run(&["service", "install"]).ok();
    assert!(
        installed.stdout.contains("pegboard.socket is active"),
        "{}",
        installed.stdout
    );
    for unit in units(&home) {
        let mode = unit.metadata().expect("a unit").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }
    assert!(asked(&home).contains("daemon-reload\nenable --now pegboard.socket\n"));
    let status = home.run(&["service", "status", "--json"]).ok().json();
    assert_eq!(status["active"], true);
    assert_eq!(status["files"][0]["state"], "installed");
    assert_eq!(
        status["units"][0],
        json!({"unit": "pegboard.socket", "state": "active"})
    );
    // Again, and for another folder: its own files are replaced.
    home.run(&["service", "install"]).ok();
    let removed = home.run(&["service", "uninstall"]).ok();
    assert!(removed.stdout.contains("removed"), "{}", removed.stdout);
    assert!(
        asked(&home)
            .ends_with("disable --now pegboard.socket\nstop pegboard.service\ndaemon-reload\n")
    );
    assert_eq!(files_below(&home.path("home")), before);
    assert!(foreign.exists());
    let again = home.run(&["service", "uninstall"]).ok();
    assert_eq!(again.stdout, "the service is not installed\n");
}

#[test]
fn r_share_01_a_foreign_or_changed_file_is_neither_replaced_nor_removed() {
    let home = home_with_systemd();
    let [socket, service] = units(&home);
    let text = "[Service]\nExecStart=/bin/true\n";
    home.write("home/.config/systemd/user/pegboard.service", text);
    for command in ["install", "uninstall"] {
        let run = home.run(&["service", command, "--json"]).exits(2);
        assert_eq!(run.error()["reason"], "SERVICE_FILE_FOREIGN");
    }
    assert_eq!(std::fs::read_to_string(&service).expect("it is left"), text);
    assert!(!socket.exists(), "nothing is half installed");
    std::fs::remove_file(&service).expect("it is removed");
    home.run(&["service", "install"]).ok();
    let own = std::fs::read_to_string(&service).expect("a unit");
    std::fs::write(&service, format!("{own}Nice=5\n")).expect("a change");
    for command in ["install", "uninstall"] {
        let run = home.run(&["service", command]).exits(2);
        assert!(run.stderr.contains("was changed after"), "{}", run.stderr);
    }
    assert!(socket.exists() && service.exists());
    std::fs::write(&service, own).expect("the change is taken back");
    home.run(&["service", "uninstall"]).ok();
}

#[test]
fn r_share_01_without_a_systemd_or_with_a_failing_one_nothing_is_installed() {
    let home = Home::new();
    let run = home.run(&["service", "install", "--json"]).exits(3);
    assert_eq!(run.error()["reason"], "SERVICE_MANAGER_MISSING");
    assert!(files_below(&home.path("home")).is_empty());
    home.run(&["service", "install", "--dry-run"]).ok();
    home.run(&["service", "install", "--manager", "launchd"])
        .exits(if cfg!(target_os = "macos") { 0 } else { 3 });

    let home = home_with_systemd();
    home.write("bin/fails", "");
    let run = home.run(&["service", "install"]).exits(3);
    assert!(
        run.stderr
            .contains("`systemctl --user daemon-reload` failed: no bus"),
        "{}",
        run.stderr
    );
    assert!(units(&home).iter().all(|unit| !unit.exists()));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "runs the checker of systemd")]
fn r_share_01_systemd_accepts_the_units() {
    let home = home_with_systemd();
    home.run(&["service", "install"]).ok();
    let units = units(&home);
    let checked = Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no"])
        .args(&units)
        .output();
    let Ok(checked) = checked else {
        println!("skipped: systemd-analyze is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&checked.stderr);
    let about_units = said.lines().filter(|line| line.contains("pegboard."));
    assert_eq!(
        about_units.collect::<Vec<_>>(),
        Vec::<&str>::new(),
        "{said}"
    );
}
