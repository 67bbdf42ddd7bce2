//! The text of a file with its lines, and the reading of it into a tree.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use pegboard_model::{Limits, UntrustedText};

use crate::node::Node;
use crate::problem::Severity;
use crate::sensitive::{VisibleSpans, mask_unparsed};
use crate::{jsonc, toml, yaml};

/// How many characters of a line a message shows; a whole config may stand on one line.
const SHOWN_LINE_CHARACTERS: usize = 120;
/// How many bytes on each side of a place are enough for that: a character has at most four.
const SHOWN_LINE_BYTES: usize = 4 * SHOWN_LINE_CHARACTERS;
/// How many bytes are counted at once; a line that is longer is never looked at as a whole.
const BLOCK: usize = 4096;

/// The formats a config file may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Toml,
    Yaml,
    Json,
}

impl Format {
    /// The format by the file's ending; TOML when it has none that is known.
    pub(crate) fn of(path: &Path) -> Self {
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

/// Why a text is not of its format.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) too_large: bool,
    /// What to write instead, where that is plain from the mistake.
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

/// A file's text, without byte order mark, and what was read from it.
#[derive(Debug)]
pub(crate) struct SourceText {
    pub(crate) path: Arc<Path>,
    pub(crate) format: Format,
    pub(crate) text: String,
    line_starts: Vec<usize>,
    /// How many characters stand before each block of [`BLOCK`] bytes; counted once, so that the column of a
    /// place in a line of megabytes costs no more than that of any other.
    characters: OnceLock<Vec<usize>>,
    /// How many problems are shown in full, of errors and of all others.
    shown_problems: usize,
    errors: AtomicUsize,
    others: AtomicUsize,
    /// How many more there are that were not even made.
    unreported: AtomicUsize,
    tree: Option<Node>,
    visible: OnceLock<VisibleSpans>,
}

/// A line as it may be shown, and where the mark stands in it.
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
        let format = Format::of(&path);
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

    /// Reads the text into a tree that is kept.
    pub(crate) fn parse(&mut self, limits: &Limits) -> Result<(), SyntaxError> {
        self.shown_problems = limits.config_problems;
        let tree = match self.format {
            Format::Toml => toml::read(&self.text, limits),
            Format::Yaml => yaml::read(&self.text, limits),
            Format::Json => jsonc::read(&self.text, limits),
        }?;
        if let Err(at) = tree.count_values(limits.config_values) {
            let message = format!("it holds more than {} values", limits.config_values);
            return Err(SyntaxError::too_large(at, message));
        }
        self.tree = Some(tree);
        Ok(())
    }

    /// Counts a problem that is reported; `false` when there were so many that nobody will read this one.
    pub(crate) fn count_problem(&self, severity: Severity) -> bool {
        let counted = match severity {
            Severity::Error => &self.errors,
            Severity::Warning | Severity::Advice => &self.others,
        };
        counted.fetch_add(1, Ordering::Relaxed) < self.shown_problems
    }

    /// Whether no more warnings are made; the one at hand is only counted then. An error is always made: it must be
    /// known to leave its server out.
    pub(crate) fn leaves_out_warning(&self) -> bool {
        let is_full = self.others.load(Ordering::Relaxed) >= self.shown_problems;
        self.unreported
            .fetch_add(usize::from(is_full), Ordering::Relaxed);
        is_full
    }

    /// How many problems were only counted.
    pub(crate) fn left_out(&self) -> usize {
        self.unreported.load(Ordering::Relaxed)
    }

    pub(crate) fn tree(&self) -> Option<&Node> {
        self.tree.as_ref()
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    pub(crate) fn place(&self, offset: usize) -> (usize, usize) {
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

    /// The part of a long line that a message can show around an offset, and where that part starts.
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

    /// Where a line starts; the end of the text for a line that is not there.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.line_starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(self.text.len())
    }

    /// The line around an offset: escaped, shortened, and without anything that may be a secret.
    pub(crate) fn shown_line(&self, offset: usize) -> ShownLine {
        let (line, column) = self.place(offset);
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
                    .get_or_init(|| VisibleSpans::of(tree, &self.text));
                spans.mask(raw, start, self.format)
            }
            None => mask_unparsed(raw, self.format),
        };
        // The mask keeps the number of characters, so columns still fit.
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
