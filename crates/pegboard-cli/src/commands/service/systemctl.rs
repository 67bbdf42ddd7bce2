//! The systemd of the user.

use std::path::PathBuf;

use pegboard_config::Environment;
use pegboard_model::{Reason, ToolError, ToolResult, UntrustedText};
use pegboard_upstream::run_tool;

use crate::background::{find_program, user_systemd};

/// The longest error text of `systemctl` that is shown.
const MAX_ERROR_CHARS: usize = 400;

/// The running systemd of the user.
pub(super) struct Systemctl {
    program: PathBuf,
}

impl Systemctl {
    /// Returns the systemd of the user.
    ///
    /// # Errors
    /// Fails with `SERVICE_MANAGER_MISSING` if it is not running, or cannot be controlled.
    pub(super) fn find(environment: &Environment) -> ToolResult<Self> {
        let missing = |why: &str| {
            let message = format!("the systemd of this user cannot be used: {why}");
            ToolError::new(Reason::ServiceManagerMissing, message)
        };
        if user_systemd(environment).is_none() {
            return Err(missing(
                "no socket of it is in `XDG_RUNTIME_DIR`, so it is not running for this login",
            ));
        }
        match find_program("systemctl", environment) {
            Some(program) => Ok(Self { program }),
            None => Err(missing("`systemctl` is not in `PATH`")),
        }
    }

    /// Runs `systemctl --user` with these arguments.
    ///
    /// # Errors
    /// Fails with what `systemctl` wrote.
    pub(super) fn run(&self, arguments: &[&str]) -> ToolResult<()> {
        let shown = format!("systemctl --user {}", arguments.join(" "));
        let failed = |why: &str| {
            let why = UntrustedText::new(why.trim()).shortened(MAX_ERROR_CHARS);
            let message = format!("`{shown}` failed: {why}");
            ToolError::new(Reason::ServiceManagerMissing, message)
                .with_remedy(format!("Run `{shown}` yourself to see more."))
        };
        let arguments = [&["--user"], arguments].concat();
        let output = run_tool(&self.program, &arguments).map_err(|e| failed(&e.to_string()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(&String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Returns the state of a unit in one word, for example `active`.
    pub(super) fn state(&self, unit: &str) -> Option<String> {
        // A unit that is not active is reported with an exit code.
        let output = run_tool(&self.program, &["--user", "is-active", unit]).ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let word = text.split_whitespace().next()?;
        Some(UntrustedText::new(word).shortened(40).to_string())
    }
}
