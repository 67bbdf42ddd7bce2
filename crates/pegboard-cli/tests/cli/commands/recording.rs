//! README's recording of `pegboard setup`, which `scripts/record-setup` prints.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{PEGBOARD, Run};

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates
        .and_then(Path::parent)
        .expect("the repository")
        .to_owned()
}

/// Replaces durations, which differ between runs, by `N`.
fn without_times(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let digits = word.trim_start_matches('(');
        match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => word.replace(digits, "N"),
            false => word.to_owned(),
        }
    });
    let text = words.collect::<Vec<_>>().join(" ");
    text.replace("N ms", "N s")
}

/// Only durations are replaced, so that counts are compared.
fn normalized(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let has_time = line.contains(" tools (") || line.starts_with("Done in ");
        let (counts, time) = match line.split_once(" tools (") {
            Some((counts, time)) => (format!("{counts} tools ("), time),
            None => (String::new(), line),
        };
        match has_time {
            true => counts + &without_times(&time.replace(" ms", " s")),
            false => line.trim_end().to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "starts the script under test")]
fn r_cfg_07_the_recording_in_the_readme_is_what_the_script_prints() {
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    if !has_python {
        println!("skipped: `python3` is not installed");
        return;
    }
    let mut command = Command::new("python3");
    command
        .arg(root().join("scripts/record-setup"))
        .arg(PEGBOARD);
    let printed = Run::of(command, "").ok().stdout;
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let start = readme
        .find("```console\n$ pegboard setup --yes\n")
        .expect("README.md has the recording");
    let block = readme.get(start..).unwrap_or_default();
    let block = block.trim_start_matches("```console\n");
    let block = block.split("\n```").next().unwrap_or_default();
    assert_eq!(
        normalized(block),
        normalized(printed.trim_end()),
        "copy the output of scripts/record-setup into README.md"
    );
    for expected in ["Found 8 servers in 5 files", "✓ Claude Code"] {
        assert!(printed.contains(expected), "{printed}");
    }
}
