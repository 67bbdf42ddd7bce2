//! Starts the background process.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Child;

use pegboard_config::Environment;
use pegboard_upstream::start_background;

use super::COMMAND;
use super::activation::activate;

/// The line with which the process reports that clients can connect.
pub(super) const READY: &str = "ready";
/// Maximum length of the error that a process reports instead.
const REPORT_BYTES: u64 = 4096;

/// Starts the process of a state folder and waits until clients can connect to it. The error is the process's own text.
pub(super) fn start_process(state: &Path, environment: &Environment) -> Result<(), String> {
    if activate(state, environment) {
        return Ok(());
    }
    let program =
        own_program().map_err(|error| format!("the path of this program is unknown: {error}"))?;
    if let Some(scope) = user_scope(environment) {
        let path = program.to_string_lossy().into_owned();
        let arguments = [
            "--user",
            "--scope",
            "--collect",
            "--quiet",
            "--",
            &path,
            COMMAND,
        ];
        if start_background(&scope, &arguments).is_ok_and(|child| report(child).is_ok()) {
            return Ok(());
        }
        // Without a working user manager the process starts directly.
    }
    let child = start_background(&program, &[COMMAND])
        .map_err(|error| format!("cannot start the background process: {error}"))?;
    report(child)
}

/// Returns the path of this program. After the file was replaced, this is the new version.
fn own_program() -> std::io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    // Linux marks the path of a running program whose file is another one now.
    let replaced = path
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"));
    Ok(match replaced {
        Some(replaced) if !path.exists() => PathBuf::from(replaced),
        _ => path,
    })
}

/// Reads the first line of the process: that it is ready, or why not.
fn report(mut child: Child) -> Result<(), String> {
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let _ = BufReader::new(output.take(REPORT_BYTES)).read_line(&mut line);
    }
    match line.trim_end() {
        READY => Ok(()),
        reason => {
            // It has ended or is about to.
            let _ = child.wait();
            Err(match reason {
                "" => "the background process ended without a message".to_owned(),
                reason => reason.to_owned(),
            })
        }
    }
}

/// Returns `systemd-run` if a systemd of the user is running. A process in a scope of its own is not ended together
/// with the terminal or the client that happened to start it.
fn user_scope(environment: &Environment) -> Option<PathBuf> {
    user_systemd(environment)?;
    find_program("systemd-run", environment)
}

/// Returns the socket of the running systemd of the user.
pub(crate) fn user_systemd(environment: &Environment) -> Option<PathBuf> {
    let manager = super::runtime_dir(environment)?.join("systemd/private");
    manager.exists().then_some(manager)
}

/// Returns the path of a program in `PATH`. Relative folders of `PATH` do not count.
pub(crate) fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    let path = environment.vars.get("PATH")?;
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders
        .map(|folder| folder.join(name))
        .find(|file: &PathBuf| Path::is_file(file))
}
