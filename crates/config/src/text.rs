//! The text of a config file: lines, columns, and parsing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use pegboard_model::{Limits, UntrustedText};

use crate::node::Node;
use crate::problem::Severity;
use crate::sensitive::{VisibleSpans, mask_unparsed};
use crate::{jsonc, toml, yaml};

/// Maximum number of characters of a line in a message. A whole config may be on one line.
const SHOWN_LINE_CHARACTERS: usize = 120;
/// Bytes on each side of a position that are enough for that, at four bytes per character.
const SHOWN_LINE_BYTES: usize = 4 * SHOWN_LINE_CHARACTERS;
/// Block size for counting characters. Longer lines are never processed as a whole.
const BLOCK: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Toml,
    Yaml,
    Json,
}

impl Format {
    /// Returns the format for a file extension. The default is TOML.
    pub(crate) fn from_path(path: &Path) -> Self {
        match path
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or_default()
        {
            "json" | "jsonc" => Self::Json,
            "yaml" | "yml" => Self::Yaml,
            _ => Self::Toml,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Json => "JSON",
        }
    }
}

#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) too_large: bool,
    /// How to fix it, if that is clear from the error.
    pub(crate) help: Option<&'static str>,
}

impl SyntaxError {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            too_large: false,
            help: None,
        }
    }

    pub(crate) fn too_large(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
            too_large: true,
            help: None,
        }
    }
}

/// A file's text without byte order mark, and its syntax tree.
#[derive(Debug)]
pub(crate) struct SourceText {
    pub(crate) path: Arc<Path>,
    pub(crate) format: Format,
    pub(crate) text: String,
    line_starts: Vec<usize>,
    /// Number of characters before each block of [`BLOCK`] bytes. Computed once, so that finding a column in a line
    /// of megabytes is as fast as in any other.
    characters: OnceLock<Vec<usize>>,
    /// Maximum number of errors, and of other problems, that are reported in full.
    shown_problems: usize,
    errors: AtomicUsize,
    others: AtomicUsize,
    /// Number of problems that were counted but not created.
    unreported: AtomicUsize,
    tree: Option<Node>,
    visible: OnceLock<VisibleSpans>,
}

/// A masked line, and the position of the mark in it.
#[derive(Debug)]
pub(crate) struct ShownLine {
    pub(crate) text: String,
    pub(crate) mark: usize,
}

impl SourceText {
    pub(crate) fn new(path: PathBuf, text: String) -> Self {
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| at + 1))
            .collect();
        let format = Format::from_path(&path);
        Self {
            path: path.into(),
            format,
            text,
            line_starts,
            characters: OnceLock::new(),
            shown_problems: usize::MAX,
            errors: AtomicUsize::new(0),
            others: AtomicUsize::new(0),
            unreported: AtomicUsize::new(0),
            tree: None,
            visible: OnceLock::new(),
        }
    }

    /// Parses the text and stores the tree.
    pub(crate) fn parse(&mut self, limits: &Limits) -> Result<(), SyntaxError> {
        self.shown_problems = limits.config_problems;
        let tree = match self.format {
            Format::Toml => toml::read(&self.text, limits),
            Format::Yaml => yaml::read(&self.text, limits),
            Format::Json => jsonc::read(&self.text, limits),
        }?;
        if let Err(at) = tree.count_values(limits.config_values) {
            let message = format!("it contains more than {} values", limits.config_values);
            return Err(SyntaxError::too_large(at, message));
        }
        self.tree = Some(tree);
        Ok(())
    }

    /// Counts a problem. Returns `false` beyond the limit, where details are not needed.
    pub(crate) fn count_problem(&self, severity: Severity) -> bool {
        let counted = match severity {
            Severity::Error => &self.errors,
            Severity::Warning | Severity::Advice => &self.others,
        };
        counted.fetch_add(1, Ordering::Relaxed) < self.shown_problems
    }

    /// Whether warnings beyond the limit are only counted. Errors are always created, because they cause their server
    /// to be rejected.
    pub(crate) fn skips_warning(&self) -> bool {
        let is_full = self.others.load(Ordering::Relaxed) >= self.shown_problems;
        self.unreported
            .fetch_add(usize::from(is_full), Ordering::Relaxed);
        is_full
    }

    /// Returns how many problems were only counted.
    pub(crate) fn left_out(&self) -> usize {
        self.unreported.load(Ordering::Relaxed)
    }

    pub(crate) fn tree(&self) -> Option<&Node> {
        self.tree.as_ref()
    }

    /// Returns line and column of a byte offset, both from 1. Columns count characters.
    pub(crate) fn line_and_column(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_start(line);
        let column = self
            .characters_before(offset)
            .saturating_sub(self.characters_before(start));
        (line, column + 1)
    }

    fn characters_before(&self, offset: usize) -> usize {
        let begins = |byte: &&u8| (**byte & 0xC0) != 0x80;
        let count = |bytes: &[u8]| bytes.iter().filter(begins).count();
        let bytes = self.text.as_bytes();
        let blocks = self.characters.get_or_init(|| {
            let mut before = 0;
            let mut blocks = vec![0];
            for block in bytes.chunks(BLOCK) {
                before += count(block);
                blocks.push(before);
            }
            blocks
        });
        let block = offset / BLOCK;
        let rest = bytes.get(block * BLOCK..offset).unwrap_or_default();
        blocks.get(block).copied().unwrap_or(0) + count(rest)
    }

    /// Returns the part of a long line around an offset, and its start.
    fn window(&self, start: usize, end: usize, offset: usize) -> (usize, &str) {
        let line = self.text.get(start..end).unwrap_or_default();
        if line.len() <= BLOCK {
            return (start, line);
        }
        let boundary = |mut at: usize| {
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let at = boundary(offset.clamp(start, end));
        let from = boundary(at - (at - start).min(SHOWN_LINE_BYTES));
        let to = boundary(at + (end - at).min(SHOWN_LINE_BYTES));
        (from, self.text.get(from..to).unwrap_or_default())
    }

    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.line_starts
            .partition_point(|start| *start <= offset.min(self.text.len()))
    }

    /// Returns the start of a line, or the end of the text for a line beyond it.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.line_starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(self.text.len())
    }

    /// Returns the line at an offset: escaped, shortened, and with possible secrets masked.
    pub(crate) fn shown_line(&self, offset: usize) -> ShownLine {
        let (line, column) = self.line_and_column(offset);
        let line_start = self.line_start(line);
        let (start, raw) = self.window(line_start, self.line_start(line + 1), offset);
        let raw = raw.trim_end_matches(['\r', '\n']);
        let left_out = self
            .characters_before(start)
            .saturating_sub(self.characters_before(line_start));
        let column = column.saturating_sub(left_out).max(1);
        let masked = match &self.tree {
            Some(tree) => {
                let spans = self
                    .visible
                    .get_or_init(|| VisibleSpans::new(tree, &self.text));
                spans.mask(raw, start, self.format)
            }
            None => mask_unparsed(raw, self.format),
        };
        // Masking keeps the number of characters, so columns are still valid.
        let skipped = column.saturating_sub(SHOWN_LINE_CHARACTERS * 2 / 3);
        let skipped = if skipped <= 1 { 0 } else { skipped };
        let before: String = masked
            .chars()
            .skip(skipped)
            .take(column - 1 - skipped.min(column - 1))
            .collect();
        let after: String = masked.chars().skip(skipped.max(column - 1)).collect();
        let lead = if skipped + left_out > 0 { "…" } else { "" };
        let before = format!("{lead}{}", UntrustedText::new(&before));
        let room = SHOWN_LINE_CHARACTERS
            .saturating_sub(before.chars().count())
            .max(20);
        let mark = before.chars().count();
        ShownLine {
            text: format!("{before}{}", UntrustedText::new(&after).shortened(room)),
            mark,
        }
    }
}
