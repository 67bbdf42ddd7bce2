//! Logs of the command line: on the error output, off until somebody asks for them.

use std::sync::{Arc, OnceLock};

use pegboard_trace::{LogFormat, LogGuard, LogSettings, Redactor, init_logging};

use super::args::Global;
use super::failure::Failure;
use super::output::{Output, Paint};
use crate::Configured;

/// What is said without being asked for, where spans are sent: that they do not arrive, and that they do again.
const EXPORT_PROBLEMS_ONLY: &str = "off,pegboard_trace=info";

/// The logs of this process, written out to their last line when the last handle is dropped.
#[derive(Clone, Default)]
pub(crate) struct Logging {
    started: Arc<OnceLock<(LogGuard, Arc<Redactor>)>>,
}

impl Logging {
    /// What must know every secret before a line is written; none where nothing is.
    pub(crate) fn redactor(&self) -> Option<Arc<Redactor>> {
        self.started.get().map(|(_, redactor)| redactor.clone())
    }
}

/// Starts the logs as the flag, the environment or the configuration says, the first of them that says anything.
pub(crate) fn start(
    global: &Global,
    configured: &Configured,
    output: &Output,
) -> Result<(), Failure> {
    let variables = |name: &str| configured.environment.vars.get(name).cloned();
    let settings = LogSettings {
        level: configured.loaded.settings.log_level.clone(),
        format: LogFormat::Auto,
    };
    let mut settings = settings.with_environment(&variables);
    if global.log_level.is_some() {
        settings.level.clone_from(&global.log_level);
    }
    if settings.level.is_none() {
        if global.quiet || !crate::telemetry::may_trace(configured) {
            return Ok(());
        }
        settings.level = Some(EXPORT_PROBLEMS_ONLY.to_owned());
    }
    let redactor = Arc::<Redactor>::default();
    match init_logging(&settings, redactor.clone()) {
        Ok(logs) => drop(output.logging.started.set((logs, redactor))),
        Err(why) if global.log_level.is_some() => {
            return Err(Failure::usage(why, "Write for example `--log-level info`."));
        }
        Err(why) => output.note(&output.paint(Paint::Warn, &format!("logs are off: {why}"))),
    }
    Ok(())
}
