//! Reads a client's file into entries. A bad entry does not affect the others.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use pegboard_model::{Limits, Reason};

use super::locations::{FoundFile, Places};
use super::table::{FileFormat, FileScope, Root};
use crate::file::{ignored_problem, syntax_problem};
use crate::node::{Entry, Node, Value};
use crate::permission::{is_owned_by_other, is_placed_by_other};
use crate::problem::{Problem, shown_path};
use crate::regular_file::{ReadError, not_regular, read_regular_file_if};
use crate::text::{Format, SourceText};

/// Maximum size of a client's file. Some clients keep their history in the same file.
const MAX_FILE_BYTES: u64 = 32 * 1024 * 1024;
/// Maximum number of values in a client's file.
const MAX_VALUES: usize = 1_000_000;
/// Maximum number of servers in a client's file.
const MAX_SERVERS: usize = 1_000;

/// A client's file that was read.
pub(super) struct ReadFile {
    pub(super) source: SourceText,
    /// The hash of the bytes.
    pub(super) hash: blake3::Hash,
}

/// An entry of a client's file.
pub(super) struct FileEntry<'s> {
    /// The name as written; empty if there is none.
    pub(super) name: &'s str,
    /// The offset of the entry.
    pub(super) at: usize,
    pub(super) node: &'s Node,
    /// Whether an earlier entry has the same name. Clients use the last one.
    pub(super) is_repeated: bool,
}

/// Returns the hash of a file's content, or `None` if it cannot be read.
pub(super) fn hash_of(path: &Path) -> Option<blake3::Hash> {
    let bytes = crate::regular_file::read_regular_file(path, MAX_FILE_BYTES).ok()?;
    Some(blake3::hash(&bytes))
}

/// Reads and parses a file.
///
/// # Errors
/// Fails if the file cannot be read or parsed, or belongs to another user.
pub(super) fn read(found: &FoundFile) -> Result<ReadFile, Problem> {
    let path = &found.path;
    let foreign = || Box::new(ignored_problem(std::slice::from_ref(path)));
    // Another user could place a link in a shared project folder.
    if found.file.scope == FileScope::Project && is_placed_by_other(path) {
        return Err(*foreign());
    }
    let check = |metadata: &Metadata| match is_owned_by_other(metadata) {
        true => Err(foreign()),
        false => Ok(()),
    };
    let bytes = match read_regular_file_if(path, MAX_FILE_BYTES, check) {
        Ok(bytes) => bytes.map_err(|problem| *problem)?,
        Err(ReadError::NotRegular) => return Err(not_regular(path)),
        Err(ReadError::Io(error)) => return Err(Problem::io(path, "read", &error)),
        Err(ReadError::TooLarge) => {
            let message = format!(
                "`{}` is larger than {MAX_FILE_BYTES} bytes",
                shown_path(path)
            );
            return Err(Problem::error(Reason::ConfigTooLarge, message).in_file(path));
        }
    };
    let hash = blake3::hash(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| {
        Problem::error(Reason::ConfigParse, "the file is not UTF-8 text")
            .help("save the file with the encoding UTF-8")
            .in_file(path)
    })?;
    let source = parsed(path.clone(), text, found.file.format)?;
    Ok(ReadFile { source, hash })
}

/// Parses the text of a client's file.
///
/// # Errors
/// Fails with the place of the syntax error.
pub(super) fn parsed(
    path: PathBuf,
    text: String,
    format: FileFormat,
) -> Result<SourceText, Problem> {
    let limits = Limits {
        config_values: MAX_VALUES,
        ..Limits::default()
    };
    let mut source = SourceText::new(path, text);
    source.format = match format {
        FileFormat::Json => Format::Json,
        FileFormat::Toml => Format::Toml,
        FileFormat::Yaml => Format::Yaml,
    };
    match source.parse(&limits) {
        Ok(()) => Ok(source),
        Err(error) => Err(syntax_problem(&source, error)),
    }
}

/// Returns the entries of a file.
///
/// # Errors
/// Fails if the servers are not a table or list, or if there are too many.
pub(super) fn entries<'s>(
    source: &'s SourceText,
    root: Root,
    places: &Places<'_>,
) -> Result<Vec<FileEntry<'s>>, Problem> {
    let Some(tree) = source.tree().filter(|tree| !tree.is_empty()) else {
        return Ok(Vec::new());
    };
    if !matches!(tree.value, Value::Map(_)) {
        let message = format!(
            "the file must contain a table, but it contains {}",
            tree.kind()
        );
        return Err(invalid(source, tree.start, message));
    }
    let mut entries = Vec::new();
    for servers in server_tables(tree, root, places) {
        match &servers.node.value {
            Value::Map(table) => entries.extend(table.iter().map(|entry| FileEntry {
                name: &entry.key,
                at: entry.key_start,
                node: &entry.node,
                is_repeated: false,
            })),
            Value::List(items) => entries.extend(items.iter().map(|item| {
                FileEntry {
                    name: item
                        .get("name")
                        .and_then(|name| name.node.text())
                        .unwrap_or_default(),
                    at: item.start,
                    node: item,
                    is_repeated: false,
                }
            })),
            Value::Null => {}
            _ => {
                let message = format!(
                    "the servers must be a table, but they are {}",
                    servers.node.kind()
                );
                return Err(invalid(source, servers.node.start, message));
            }
        }
    }
    if let Some(first) = entries.get(MAX_SERVERS) {
        let message = format!("the file defines more than {MAX_SERVERS} servers");
        return Err(Problem::error(Reason::ConfigTooLarge, message).at(source, first.at));
    }
    Ok(last_of_each(entries))
}

fn invalid(source: &SourceText, at: usize, message: String) -> Problem {
    Problem::error(Reason::ConfigInvalid, message)
        .help("fix the client's file")
        .at(source, at)
}

/// Returns the tables or lists with servers. Only the section of a project may have several.
fn server_tables<'s>(tree: &'s Node, root: Root, places: &Places<'_>) -> Vec<&'s Entry> {
    match root {
        Root::Table(path) | Root::List(path) => {
            let found = at_path(tree, path).or_else(|| at_path(tree, other_path(path)?));
            let found = found.map(|entry| inner_servers(entry, path));
            found.into_iter().collect()
        }
        Root::PerProject(projects, servers) => {
            let Some(projects) = tree.get(projects) else {
                return Vec::new();
            };
            let folders = project_folders(places);
            let found = folders.iter().filter_map(|folder| {
                let project = projects.node.get(folder.to_str()?)?;
                project.node.get(servers)
            });
            found.collect()
        }
    }
}

/// Users write the key of one client into the file of another.
fn other_path(path: &[&str]) -> Option<&'static [&'static str]> {
    match path {
        ["mcpServers"] => Some(&["servers"]),
        ["servers"] => Some(&["mcpServers"]),
        _ => None,
    }
}

/// A newer form of opencode has the servers in `mcp.servers`.
fn inner_servers<'s>(entry: &'s Entry, path: &[&str]) -> &'s Entry {
    let inner = entry.node.get("servers").filter(|_| path == ["mcp"]);
    let is_server =
        |inner: &&Entry| inner.node.get("command").is_some() || inner.node.get("url").is_some();
    match inner {
        Some(inner) if !is_server(&inner) => inner,
        _ => entry,
    }
}

fn at_path<'s>(tree: &'s Node, path: &[&str]) -> Option<&'s Entry> {
    let (first, rest) = path.split_first()?;
    let entry = tree.get(first)?;
    match rest {
        [] => Some(entry),
        _ => at_path(&entry.node, rest),
    }
}

/// The folders under which a client may have stored the current project.
fn project_folders(places: &Places<'_>) -> Vec<PathBuf> {
    let current = &places.env().working_dir;
    let mut folders = Vec::new();
    for folder in [&places.project, current] {
        let resolved = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        for folder in [folder.clone(), resolved] {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// Keeps the last of several entries with the same name, as clients do.
fn last_of_each(entries: Vec<FileEntry<'_>>) -> Vec<FileEntry<'_>> {
    let mut kept: Vec<FileEntry<'_>> = Vec::with_capacity(entries.len());
    let mut places = std::collections::HashMap::new();
    for entry in entries {
        match places
            .get(entry.name)
            .and_then(|at: &usize| kept.get_mut(*at))
        {
            Some(earlier) if !entry.name.is_empty() => {
                *earlier = FileEntry {
                    is_repeated: true,
                    ..entry
                };
            }
            _ => {
                places.insert(entry.name, kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}
