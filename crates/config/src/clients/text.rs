//! The text of a client's file, with what has to be kept when it is written back.

use std::path::Path;

use pegboard_model::{Limits, Reason, UntrustedText};

use super::table::{FileFormat, Root};
use crate::file::syntax_problem;
use crate::node::{Entry, Node, Value};
use crate::problem::{Problem, shown_path};
use crate::regular_file::{ReadError, not_regular, read_regular_file};
use crate::text::{Format, SourceText};

/// Maximum size of a client's file. Claude Code keeps the history of all projects in the file of its servers.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of values in a client's file, for the same reason.
const MAX_VALUES: usize = 4_000_000;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A client's file that was parsed.
#[derive(Debug)]
pub(crate) struct ClientText {
    pub(crate) source: SourceText,
    has_mark: bool,
}

/// Reads a file. Returns `None` if it does not exist.
pub(crate) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    match read_regular_file(path, MAX_FILE_BYTES) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_missing() => Ok(None),
        Err(ReadError::NotRegular) => Err(not_regular(path)),
        Err(ReadError::Io(error)) => Err(Problem::io(path, "read", &error)),
        Err(ReadError::TooLarge) => {
            let shown = shown_path(path);
            let message = format!("`{shown}` is larger than {MAX_FILE_BYTES} bytes");
            Err(Problem::error(Reason::ConfigTooLarge, message).in_file(path))
        }
    }
}

impl ClientText {
    /// Parses the bytes of a file.
    pub(crate) fn parse(path: &Path, bytes: &[u8], format: FileFormat) -> Result<Self, Problem> {
        let has_mark = bytes.starts_with(BYTE_ORDER_MARK);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let mut problem = Problem::error(Reason::ConfigParse, "the file is not UTF-8 text")
                .help("save the file with the encoding UTF-8")
                .in_file(path);
            problem.line = Some(line);
            problem
        })?;
        let source = parse_text(path, text.to_owned(), format)?;
        Ok(Self { source, has_mark })
    }

    /// Parses a changed text of the same file.
    pub(crate) fn with_text(&self, text: String) -> Result<Self, Problem> {
        let format = match self.source.format {
            Format::Json => FileFormat::Json,
            Format::Toml => FileFormat::Toml,
            Format::Yaml => FileFormat::Yaml,
        };
        Ok(Self {
            source: parse_text(&self.source.path, text, format)?,
            has_mark: self.has_mark,
        })
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mark = if self.has_mark { BYTE_ORDER_MARK } else { b"" };
        [mark, self.source.text.as_bytes()].concat()
    }

    /// The values of the file.
    pub(crate) fn json(&self) -> serde_json::Value {
        self.source
            .tree()
            .map_or(serde_json::Value::Null, Node::to_json)
    }
}

fn parse_text(path: &Path, text: String, format: FileFormat) -> Result<SourceText, Problem> {
    let limits = Limits {
        config_bytes: MAX_FILE_BYTES,
        config_values: MAX_VALUES,
        ..Limits::default()
    };
    let mut source = SourceText::new(path.to_owned(), text);
    source.format = match format {
        FileFormat::Json => Format::Json,
        FileFormat::Toml => Format::Toml,
        FileFormat::Yaml => Format::Yaml,
    };
    if let Err(error) = source.parse(&limits) {
        return Err(syntax_problem(&source, error));
    }
    if format == FileFormat::Toml
        && let Err(error) = toml_edit::Document::parse(source.text.as_str())
    {
        // Pegboard's own reader accepts a table that is defined twice.
        let at = error.span().map_or(0, |span| span.start);
        let message = UntrustedText::new(error.message()).shortened(200);
        let message = format!("the file is not valid TOML: {message}");
        return Err(Problem::error(Reason::ConfigParse, message).at(&source, at));
    }
    Ok(source)
}

/// The place of the servers in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Container {
    /// The keys from the root.
    pub(crate) keys: &'static [&'static str],
    /// Whether the servers are a list of entries with a `name`.
    pub(crate) is_list: bool,
}

impl Container {
    /// The container of a row of the table; `None` for servers below the entry of a project.
    pub(crate) fn new(root: Root) -> Option<Self> {
        let (keys, is_list) = match root {
            Root::Table(keys) => (keys, false),
            Root::List(keys) => (keys, true),
            Root::PerProject(..) => return None,
        };
        Some(Self { keys, is_list })
    }

    /// The container's node, if it exists.
    pub(crate) fn node<'s>(&self, source: &'s SourceText) -> Option<&'s Node> {
        let mut keys = self.keys.iter();
        keys.try_fold(source.tree()?, |node, key| {
            node.get(key).map(|entry| &entry.node)
        })
    }

    /// The servers, each with its name, key and fields, in the order of the file.
    pub(crate) fn servers(&self, source: &SourceText) -> Vec<Entry> {
        let Some(node) = self.node(source) else {
            return Vec::new();
        };
        match (&node.value, self.is_list) {
            (Value::Map(entries), false) => entries.clone(),
            (Value::List(items), true) => items.iter().filter_map(named_item).collect(),
            _ => Vec::new(),
        }
    }

    /// The container's name for messages.
    pub(crate) fn shown(&self) -> String {
        self.keys.join(".")
    }
}

fn named_item(item: &Node) -> Option<Entry> {
    Some(Entry {
        key: item.get("name")?.node.text()?.to_owned(),
        key_start: item.start,
        node: item.clone(),
    })
}
