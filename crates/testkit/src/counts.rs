//! The count file, in which the servers of this crate record their starts and received methods.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// Appends one line to a count file: `start PID` or `got METHOD`. Several processes may write to the same
/// file, because each line is one append.
///
/// # Errors
/// If the file cannot be written.
pub fn append_line(file: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)?
        .write_all(format!("{line}\n").as_bytes())
}

/// The process ids of the starts, in order; empty if there is no file.
pub fn starts_in(file: &Path) -> Vec<u32> {
    lines_with(file, "start ")
        .iter()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// The received methods, in order; recorded only with `count_methods` in the script.
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
