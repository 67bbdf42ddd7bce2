//! What is wrong in a configuration: where, what, and what to write instead.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use pegboard_model::{Reason, UntrustedText};
use serde::Serialize;

use crate::text::SourceText;

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Everything works, and could be safer.
    Advice,
    /// Something that was written has no effect, or not the one that was meant.
    Warning,
    /// A server or a file is left out.
    Error,
}

/// One thing that is wrong. It holds no secret: lines are masked before they are kept here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// The code from the one table.
    pub reason: Reason,
    /// The server it is about, as it was written (escaped).
    pub server: Option<String>,
    /// The file it is in.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// The line itself, with anything that may be a secret masked.
    pub line_text: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to write or do instead.
    pub help: String,
    /// How many characters of `line_text` stand before the marked place.
    #[serde(skip)]
    pub mark: usize,
}

impl Problem {
    /// A problem without a place; the help is the table's until a better one is given.
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

    /// An error without a place.
    pub fn error(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, message)
    }

    pub(crate) fn warning(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, reason, message)
    }

    /// A file that could not be read or written.
    pub(crate) fn io(path: &Path, doing: &str, error: &std::io::Error) -> Self {
        let message = format!("could not {doing} `{}`: {error}", shown_path(path));
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

    /// Points at a byte of a file.
    pub(crate) fn at(mut self, source: &SourceText, offset: usize) -> Self {
        self.file = Some(source.path.to_path_buf());
        if !source.count_problem(self.severity) {
            self.line = Some(source.line_of(offset));
            return self;
        }
        let (line, column) = source.place(offset);
        let shown = source.shown_line(offset);
        self.line = Some(line);
        self.column = Some(column);
        self.line_text = Some(shown.text);
        self.mark = shown.mark;
        self
    }
}

/// Untrusted text as a person may see it, at most so many characters. Nearly all of it is plain, and there
/// is much of it in a large configuration.
pub(crate) fn shown_text(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(UntrustedText::new(text).shortened(limit).to_string())
}

/// A path as a person may see it.
pub(crate) fn shown_path(path: &Path) -> String {
    UntrustedText::new(&path.to_string_lossy()).to_string()
}

impl Problem {
    /// The problem in one line, for places where it is not the matter at hand.
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
