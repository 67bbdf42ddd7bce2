//! Log configuration and setup.

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

/// Prefix of our own log targets.
const OURS: &str = "pegboard";
/// How long a process waits at exit for its last log lines.
const LAST_LINES: Duration = Duration::from_millis(500);

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Human-readable on a terminal, else JSON.
    #[default]
    Auto,
    /// Human-readable.
    Human,
    /// One JSON object per line.
    Json,
}

/// Log level and format.
#[derive(Clone, Debug, Default)]
pub struct LogSettings {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`, or targets with levels such as
    /// `info,pegboard_gateway=debug`. Defaults to `warn`. A level without a target applies to Pegboard itself; its
    /// libraries log at `warn` and above.
    pub level: Option<String>,
    /// The format of lines.
    pub format: LogFormat,
}

impl LogSettings {
    /// Applies environment variables: `PEGBOARD_LOG` overrides the level, and `PEGBOARD_LOG_FORM` (`human`, `json`) the
    /// format.
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
                "`{shown}` is not a log level; use `off`, `error`, `warn`, `info`, `debug` or `trace`"
            )
        };
        // A single word is a level here. `Targets` would also accept it as a target.
        if !level.contains([',', '=']) {
            let ours: LevelFilter = level.parse().map_err(|_| wrong())?;
            return Ok(Targets::new()
                .with_default(ours.min(LevelFilter::WARN))
                .with_target(OURS, ours));
        }
        let targets: Targets = level.parse().map_err(|_| wrong())?;
        // A level without a target applies to Pegboard only.
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

/// Flushes the log when dropped, waiting at most half a second.
pub struct LogGuard {
    writer: Arc<LogWriter>,
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.writer.flush(LAST_LINES);
    }
}

/// Initializes logging to stderr for this process. For programs; libraries leave logging to their host.
///
/// # Errors
/// Fails if the level is invalid, or if logging was already initialized.
pub fn init_logging(settings: &LogSettings, redactor: Arc<Redactor>) -> Result<LogGuard, String> {
    let sink = Box::new(std::io::stderr());
    let (subscriber, logs) = subscriber(settings, settings.format(), redactor, sink)?;
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|_| "logging was already initialized".to_owned())?;
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

/// Formats events as lines.
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
