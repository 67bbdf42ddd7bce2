//! Problems found in a configuration: where, what, and how to fix it.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use pegboard_model::{Reason, UntrustedText};
use serde::Serialize;

use crate::text::SourceText;

/// The severity of a problem, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Everything works, but could be safer.
    Advice,
    /// Something has no effect, or not the intended one.
    Warning,
    /// A server or a file was rejected.
    Error,
}

/// One mistake in a configuration. It contains no secrets: lines are masked before they are stored here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// The error code.
    pub reason: Reason,
    /// The server that is affected, as written and escaped.
    pub server: Option<String>,
    /// The file that contains the mistake.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The line, with possible secrets masked.
    pub line_text: Option<String>,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: String,
    /// Number of characters of `line_text` before the marked position.
    #[serde(skip)]
    pub mark: usize,
}

impl Problem {
    /// Creates a problem without a location. The help is the error code's default.
    pub fn new(severity: Severity, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            severity,
            reason,
            server: None,
            file: None,
            line: None,
            column: None,
            line_text: None,
            message: message.into(),
            help: reason.remedy().to_owned(),
            mark: 0,
        }
    }

    /// Creates an error without a location.
    pub fn error(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, message)
    }

    pub(crate) fn warning(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, message)
    }

    /// Creates the error for a file that cannot be read or written.
    pub(crate) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Self {
        let message = format!("cannot {doing} `{}`: {error}", shown_path(path));
        Self::error(Reason::ConfigIo, message).in_file(path)
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn of_server(mut self, server: &str) -> Self {
        self.server = Some(UntrustedText::new(server).shortened(60).to_string());
        self
    }

    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        self.file = Some(path.to_owned());
        self
    }

    /// Sets file, line and column from a byte offset.
    pub(crate) fn at(mut self, source: &SourceText, offset: usize) -> Self {
        self.file = Some(source.path.to_path_buf());
        if !source.count_problem(self.severity) {
            self.line = Some(source.line_of(offset));
            return self;
        }
        let (line, column) = source.line_and_column(offset);
        let shown = source.shown_line(offset);
        self.line = Some(line);
        self.column = Some(column);
        self.line_text = Some(shown.text);
        self.mark = shown.mark;
        self
    }
}

/// Escapes text for display and shortens it to `limit` characters. Most text needs neither, and a large configuration
/// has much of it, so that case does not allocate.
pub(crate) fn shown_text(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(UntrustedText::new(text).shortened(limit).to_string())
}

/// Escapes a path for display.
pub(crate) fn shown_path(path: &Path) -> String {
    UntrustedText::new(&path.to_string_lossy()).to_string()
}

impl Problem {
    /// Formats the problem on one line.
    pub fn in_one_line(&self) -> String {
        let place = self.place().map(|place| format!(" ({place})"));
        format!(
            "{}{}; {}",
            self.head(),
            place.unwrap_or_default(),
            self.help
        )
    }

    fn head(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Advice => "advice",
        };
        let server = self
            .server
            .as_ref()
            .map(|server| format!("server `{server}`: "));
        let server = server.unwrap_or_default();
        format!("{severity}[{}]: {server}{}", self.reason, self.message)
    }

    fn place(&self) -> Option<String> {
        let file = shown_path(self.file.as_deref()?);
        Some(match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
            (Some(line), None) => format!("{file}:{line}"),
            _ => file.to_string(),
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head())?;
        if let Some(place) = self.place() {
            write!(f, "\n  --> {place}")?;
        }
        if let (Some(line), Some(text)) = (self.line, &self.line_text) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            write!(
                f,
                "\n {margin} |\n {number} | {text}\n {margin} | {}^",
                " ".repeat(self.mark)
            )?;
        }
        write!(f, "\n  help: {}", self.help)
    }
}

impl std::error::Error for Problem {}
