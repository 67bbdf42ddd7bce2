//! Shared fixtures of the command line tests.

mod home;
mod http;
mod run;
mod running;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) use home::{Home, toml_server};
pub(crate) use http::{http, http_whole, mcp};
pub(crate) use run::Run;
pub(crate) use running::Running;

/// The time limit of each step; test machines can be slow.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) const PEGBOARD: &str = env!("CARGO_BIN_EXE_pegboard");

/// The number of tools of the built-in example server.
pub(crate) const EXAMPLE_TOOLS: usize = 16;

/// Sends a signal in the notation of `kill`.
#[expect(clippy::disallowed_methods, reason = "the system's own `kill`")]
pub(crate) fn kill(signal: &str, pid: u32) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(
        sent.is_ok_and(|status| status.success()),
        "kill {signal} {pid}"
    );
}

/// Returns all files below a directory.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
