//! What a server can learn from the process that started it.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Home, Run};

/// The user id of `nobody`, which root can switch to.
const NOBODY: &str = "65534";

#[test]
fn r_sec_04_a_server_cannot_read_the_environment_of_pegboard() {
    let mut home = Home::new();
    home.set("CANARY_API_KEY", "canary-value");
    let file = home.path("shared/environ");
    let script = format!(
        "cat /proc/$PPID/environ > {0} 2> {0}.err; echo >> {0}",
        file.display()
    );
    home.add("curious", "sh", &["-c", &script], "");
    fs::create_dir_all(home.path("shared")).expect("a folder");
    let mut command = home.command(&["refresh", "--all"]);
    if rustix::process::geteuid().is_root() {
        // Root may read everything, so the program runs as another user.
        match as_nobody(&home, &command) {
            Some(changed) => command = changed,
            None => return println!("skipped: root cannot run the program as another user here"),
        }
    }
    Run::of(command, "");
    let read = fs::read_to_string(&file).expect("the server ran");
    assert!(!read.contains("canary"), "{read:?}");
    let refused = fs::read_to_string(file.with_extension("err")).unwrap_or_default();
    assert!(refused.contains("ermission denied"), "{refused:?}");
}

#[expect(
    clippy::disallowed_methods,
    reason = "starts the program as another user"
)]
fn as_nobody(home: &Home, command: &Command) -> Option<Command> {
    let mut changed = Command::new("setpriv");
    changed.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    let mut probe = Command::new("setpriv");
    probe.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    probe.arg(command.get_program()).arg("--version");
    probe
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    changed.arg(command.get_program()).args(command.get_args());
    changed.env_clear().current_dir("/");
    for (name, value) in command.get_envs() {
        changed.env(name, value?);
    }
    let root = home.path("");
    for folder in [
        root.clone(),
        home.path("home"),
        home.path("config"),
        home.path("shared"),
    ] {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).ok()?;
    }
    Some(changed)
}
