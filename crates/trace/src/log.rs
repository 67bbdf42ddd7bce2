//! Setting logs up: where lines go, which, and how they look.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::log_line::{LineFormat, dropped_notice, line};
use crate::log_writer::{LogWriter, Sink};
use crate::redactor::Redactor;

/// Targets that begin with this are ours.
const OURS: &str = "pegboard";
/// How long the end of a process waits for its last lines.
const LAST_LINES: Duration = Duration::from_millis(500);

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// For a person.
    Human,
    /// One JSON object a line.
    Json,
}

/// What is logged, and how.
#[derive(Clone, Debug, Default)]
pub struct LogSettings {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`, or targets with levels such as
    /// `info,pegboard_gateway=debug`; `warn` without one. A level alone is about Pegboard itself; what its
    /// libraries say is shown from `warn` on.
    pub level: Option<String>,
    /// How lines look.
    pub format: LogFormat,
}

impl LogSettings {
    /// The settings with what the environment says: `PEGBOARD_LOG` comes before the configuration, and
    /// `PEGBOARD_LOG_FORM` (`human`, `json`) before what the terminal suggests.
    #[must_use]
    pub fn with_environment(mut self, variables: &dyn Fn(&str) -> Option<String>) -> Self {
        let read = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        self.level = read("PEGBOARD_LOG").or(self.level);
        match read("PEGBOARD_LOG_FORM").as_deref().map(str::trim) {
            Some("human") => self.format = LogFormat::Human,
            Some("json") => self.format = LogFormat::Json,
            _ => {}
        }
        self
    }

    fn targets(&self) -> Result<Targets, String> {
        let level = self.level.as_deref().unwrap_or("warn").trim();
        let wrong = || {
            let shown = pegboard_model::UntrustedText::new(level).shortened(60);
            format!(
                "`{shown}` is no log level; write `off`, `error`, `warn`, `info`, `debug` or `trace`"
            )
        };
        // A word alone may be a level or, for the library, a target: here it is a level.
        if !level.contains([',', '=']) {
            let ours: LevelFilter = level.parse().map_err(|_| wrong())?;
            return Ok(Targets::new()
                .with_default(ours.min(LevelFilter::WARN))
                .with_target(OURS, ours));
        }
        let targets: Targets = level.parse().map_err(|_| wrong())?;
        // A level without a target is about ourselves.
        match targets
            .default_level()
            .filter(|level| *level > LevelFilter::WARN)
        {
            Some(ours) => Ok(Targets::new()
                .with_target(OURS, ours)
                .with_targets(targets)
                .with_default(LevelFilter::WARN)),
            None => Ok(targets),
        }
    }

    fn format(&self) -> LineFormat {
        let is_terminal = std::io::stderr().is_terminal();
        let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let human = LineFormat::Human {
            colours: is_terminal && !wants_none,
        };
        match self.format {
            LogFormat::Json => LineFormat::Json,
            LogFormat::Human => human,
            LogFormat::Auto if is_terminal => human,
            LogFormat::Auto => LineFormat::Json,
        }
    }
}

/// LogGuard that were set up. When it is dropped the last lines are written, within half a second.
pub struct LogGuard {
    writer: Arc<LogWriter>,
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.writer.flush(LAST_LINES);
    }
}

/// Sets the logs of this process up, on its error output. For programs; a library leaves it to its host.
pub fn init_logging(settings: &LogSettings, redactor: Arc<Redactor>) -> Result<LogGuard, String> {
    let sink = Box::new(std::io::stderr());
    let (subscriber, logs) = subscriber(settings, settings.format(), redactor, sink)?;
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|_| "logs were set up before, by somebody else".to_owned())?;
    Ok(logs)
}

fn subscriber(
    settings: &LogSettings,
    format: LineFormat,
    redactor: Arc<Redactor>,
    sink: Sink,
) -> Result<(impl Subscriber + Send + Sync, LogGuard), String> {
    let writer = Arc::new(LogWriter::new(sink, dropped_notice(format)));
    let lines = LogLayer {
        writer: writer.clone(),
        redactor,
        format,
    };
    let filtered = lines.with_filter(settings.targets()?);
    Ok((
        tracing_subscriber::registry().with(filtered),
        LogGuard { writer },
    ))
}

/// Makes lines of events.
struct LogLayer {
    writer: Arc<LogWriter>,
    redactor: Arc<Redactor>,
    format: LineFormat,
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let line = line(event, self.format, Timestamp::now(), &self.redactor);
        self.writer.write(line);
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
