//! The count file: what the servers of this crate write about themselves, so that tests can count.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// Appends one line to a count file: `start PID` or `got METHOD`. Several processes may write to one
/// file, because each line is one append.
pub fn append_line(file: &Path, what: &str) -> std::io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(format!("{what}\n").as_bytes())
}

/// The processes that started, in order; empty when the file is not there.
pub fn starts_in(file: &Path) -> Vec<u32> {
    lines_with(file, "start ")
        .iter()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The methods that were received, in order; only when the script asks for `count_methods`.
pub fn methods_in(file: &Path) -> Vec<String> {
    lines_with(file, "got ")
}

fn lines_with(file: &Path, word: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix(word))
        .map(str::to_owned)
        .collect()
}
