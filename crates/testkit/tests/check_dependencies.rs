//! `scripts/check-dependencies` with a fake `cargo-deny`.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and runs the script under test"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the script with a `cargo-deny` whose commands exit with these codes.
fn run(rest: u8, fetch: u8, advisories: u8, required: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let deny = folder.path().join("cargo-deny");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*'fetch db') echo 'no route' >&2; exit {fetch};;\n\
         *licenses*) exit {rest};;\n*advisories) exit {advisories};;\nesac\nexit 9\n"
    );
    std::fs::write(&deny, script).unwrap();
    std::fs::set_permissions(&deny, std::fs::Permissions::from_mode(0o755)).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new("bash")
        .arg(root.join("scripts/check-dependencies"))
        .env("CARGO_DENY", &deny)
        .env("PEGBOARD_REQUIRE_ADVISORIES", required)
        .output()
        .unwrap()
}

#[track_caller]
fn check(codes: (u8, u8, u8), required: &str, succeeds: bool, is_skipped: bool) {
    let ran = run(codes.0, codes.1, codes.2, required);
    let text = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(ran.status.success(), succeeds, "{codes:?} {text}");
    let last = text.lines().last().unwrap_or_default();
    let is_reported = last.starts_with("ADVISORIES NOT CHECKED: ") && last.contains("no route");
    assert_eq!(is_reported, is_skipped, "{codes:?} {text}");
}

#[test]
fn r_sec_01_unchecked_advisories_are_reported_in_the_last_line() {
    check((0, 0, 0), "0", true, false);
    check((0, 1, 0), "0", true, true);
    check((0, 1, 0), "1", false, true);
    check((0, 0, 1), "0", false, false);
    check((1, 0, 0), "0", false, false);
    check((1, 1, 0), "0", false, false);
}
