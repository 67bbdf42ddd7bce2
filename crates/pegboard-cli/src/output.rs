//! Output of commands: results on stdout, everything else on stderr.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

use anstyle::{AnsiColor, Style};
use pegboard_model::escape_hidden_json;
use serde::Serialize;

use super::args::{ColorChoice, Global};
use super::failure::Failure;
use super::logging::Logging;
use super::table;

/// A terminal narrower than this is treated as this wide.
const MIN_WIDTH: u16 = 40;
/// The minimum width for a table of tools with categories.
const WIDE_TABLE_WIDTH: u16 = 110;
/// The usual capacity of a pipe.
const STREAM_BUFFER: usize = 64 * 1024;
/// The width of tables without a terminal.
const DEFAULT_WIDTH: u16 = 120;

/// The output streams of a command and how to format for them.
#[derive(Clone)]
pub(crate) struct Output {
    pub(crate) json: bool,
    quiet: bool,
    use_color: bool,
    pub(crate) logging: Logging,
}

/// The meaning of a color.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warn,
    Dim,
    Strong,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let use_color = match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && (both_are_terminals()
                        || std::env::var_os("CLICOLOR_FORCE").is_some_and(|v| v != "0"))
            }
        };
        Self {
            json: global.json,
            quiet: global.quiet,
            use_color,
            logging: Logging::default(),
        }
    }

    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        if !self.use_color {
            return text.to_owned();
        }
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        let style = match paint {
            Paint::Good => colour(AnsiColor::Green),
            Paint::Bad => colour(AnsiColor::Red).bold(),
            Paint::Warn => colour(AnsiColor::Yellow),
            Paint::Dim => Style::new().dimmed(),
            Paint::Strong => Style::new().bold(),
        };
        format!("{style}{text}{style:#}")
    }

    /// Writes one line of the result.
    pub(crate) fn line(&self, text: &str) -> Result<(), Failure> {
        self.bytes(format!("{text}\n").as_bytes())
    }

    /// Colors a name so that it differs from names with other numbers.
    pub(crate) fn paint_name(&self, number: usize, name: &str) -> String {
        const COLORS: [AnsiColor; 6] = [
            AnsiColor::Cyan,
            AnsiColor::Yellow,
            AnsiColor::Green,
            AnsiColor::Magenta,
            AnsiColor::Blue,
            AnsiColor::Red,
        ];
        let color = COLORS.iter().copied().cycle().nth(number % COLORS.len());
        match color.filter(|_| self.use_color) {
            Some(color) => {
                let style = Style::new().fg_color(Some(color.into()));
                format!("{style}{name}{style:#}")
            }
            None => name.to_owned(),
        }
    }

    /// Writes bytes of the result. A closed pipe (`| head`) ends the command without an error.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut stdout = std::io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .map_err(|_| Failure::shown(0))
    }

    /// Writes a large result in pieces, bypassing the line buffer of stdout, and ends it with a line break.
    pub(crate) fn stream(
        &self,
        write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
    ) -> Result<(), Failure> {
        let written = std::io::stdout()
            .as_fd()
            .try_clone_to_owned()
            .and_then(|stdout| {
                let mut out = BufWriter::with_capacity(STREAM_BUFFER, File::from(stdout));
                write(&mut out)?;
                out.write_all(b"\n")?;
                out.flush()
            });
        written.map_err(|_| Failure::shown(0))
    }

    /// Writes the result as one JSON document.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(document).map_err(|error| {
            pegboard_model::ToolError::new(pegboard_model::Reason::Internal, error.to_string())
        })?;
        self.json_line(&text)
    }

    /// Writes JSON text and a line break. Hidden characters become JSON escapes, which keeps the value and cannot
    /// affect a terminal.
    pub(crate) fn json_line(&self, json: &str) -> Result<(), Failure> {
        self.line(&escape_hidden_json(json))
    }

    /// Writes a note to stderr unless `--quiet` is given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.always_note(text);
        }
    }

    pub(crate) fn always_note(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    pub(crate) fn note_json(&self, document: &impl Serialize) {
        if let Ok(text) = serde_json::to_string(document) {
            self.always_note(&escape_hidden_json(&text));
        }
    }

    /// Returns true if stdout is a terminal that is too narrow for three columns.
    pub(crate) fn is_narrow(&self) -> bool {
        std::io::stdout().is_terminal() && terminal_width() < WIDE_TABLE_WIDTH
    }

    /// Returns true if progress can be shown to a person.
    pub(crate) fn is_interactive(&self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    /// Renders a table without borders. On a terminal, the column `flexible` is truncated so that each row fits one
    /// line; otherwise nothing is truncated.
    pub(crate) fn table(
        &self,
        header: &[&str],
        rows: Vec<Vec<String>>,
        flexible: impl Into<Option<usize>>,
    ) -> String {
        let flexible = flexible.into().filter(|_| std::io::stdout().is_terminal());
        let fit = flexible.map(|column| (column, usize::from(terminal_width())));
        let header = header.iter().map(|title| self.paint(Paint::Dim, title));
        let rows: Vec<Vec<String>> = std::iter::once(header.collect()).chain(rows).collect();
        table::render(&rows, fit)
    }
}

pub(crate) fn terminal_width() -> u16 {
    match terminal_size::terminal_size() {
        Some((width, _)) => width.0.max(MIN_WIDTH),
        None => DEFAULT_WIDTH,
    }
}

/// Results and notes use the same color setting, so both streams must be terminals.
fn both_are_terminals() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}
