//! Logging to standard error, off by default.

use std::sync::{Arc, OnceLock};

use pegboard::Configuration;
use pegboard_trace::{LogFormat, LogGuard, LogSettings, Redactor, init_logging};

use super::args::Global;
use super::failure::Failure;
use super::output::{Output, Paint};

/// The default filter while spans are exported: reports when the export fails and when it recovers.
const EXPORT_PROBLEMS_ONLY: &str = "off,pegboard_trace=info";

/// A handle to the logs of this process; dropping the last handle flushes them.
#[derive(Clone, Default)]
pub(crate) struct Logging {
    started: Arc<OnceLock<(LogGuard, Arc<Redactor>)>>,
}

impl Logging {
    /// Returns the redactor that must know every secret before a line is written, or `None` if logs are off.
    pub(crate) fn redactor(&self) -> Option<Arc<Redactor>> {
        self.started.get().map(|(_, redactor)| redactor.clone())
    }
}

/// Starts logging at the level of the flag, the environment or the configuration, in this order of precedence.
pub(crate) fn start(
    global: &Global,
    configuration: &Configuration,
    output: &Output,
) -> Result<(), Failure> {
    let variables = |name: &str| configuration.environment.vars.get(name).cloned();
    let settings = LogSettings {
        level: configuration.loaded.settings.log_level.clone(),
        format: LogFormat::Auto,
    };
    let mut settings = settings.with_environment(&variables);
    if global.log_level.is_some() {
        settings.level.clone_from(&global.log_level);
    }
    if settings.level.is_none() {
        if global.quiet || !configuration.may_export_traces() {
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
