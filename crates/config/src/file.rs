//! Reading and checking one config file.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use pegboard_model::{Layer, Limits, Reason};

use crate::client_files::is_client_file;
use crate::keys::find;
use crate::load::LoadedConfig;
use crate::node::{Entry, Value};
use crate::permission::{is_owned_by_other, writable_by_others};
use crate::problem::{Problem, Severity, shown_path};
use crate::reader::{TableReader, duplicates};
use crate::regular_file::{ReadError, not_regular, read_regular_file_if};
use crate::settings::SETTING_KEYS;
use crate::template::Resolver;
use crate::text::SourceText;

/// Root keys of a config file.
const ROOT_KEYS: &[&str] = &[
    "agent",
    "mcpServers",
    "policies",
    "profiles",
    "review",
    "servers",
    "settings",
    "trace",
];

/// A config file that was read and parsed.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(crate) layer: Layer,
    pub(crate) source: SourceText,
    /// Index of the problem because of which its servers are rejected.
    pub(crate) refused: Option<usize>,
    /// Duplicate tables of servers, each with the index of its problem.
    pub(crate) refused_roots: Vec<(String, usize)>,
}

/// Reads a file as UTF-8 text, up to the size limit.
pub(crate) fn read_text(path: &Path, limits: &Limits) -> Result<String, Problem> {
    read_checked(path, limits, |_| Ok(()))
}

/// Like [`read_text`], after checking the metadata of the open file. Checking the path instead would be a race.
fn read_checked(
    path: &Path,
    limits: &Limits,
    check: impl Fn(&Metadata) -> Result<(), Problem>,
) -> Result<String, Problem> {
    let too_large = || {
        let message = format!(
            "`{}` is larger than {} bytes",
            shown_path(path),
            limits.config_bytes
        );
        Problem::error(Reason::ConfigTooLarge, message).in_file(path)
    };
    let bytes = match read_regular_file_if(path, limits.config_bytes, check) {
        Ok(bytes) => bytes?,
        Err(ReadError::TooLarge) => return Err(too_large()),
        Err(ReadError::NotRegular) => return Err(not_regular(path)),
        Err(ReadError::Io(error)) => return Err(Problem::io(path, "read", &error)),
    };
    String::from_utf8(bytes).map_err(|error| {
        let sound = error
            .as_bytes()
            .get(..error.utf8_error().valid_up_to())
            .unwrap_or_default();
        let sound = String::from_utf8_lossy(sound);
        let line = sound.matches('\n').count() + 1;
        let column = sound
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        let mut problem = Problem::error(Reason::ConfigParse, "the file is not UTF-8 text")
            .help("save the file with the encoding UTF-8")
            .in_file(path);
        problem.line = Some(line);
        problem.column = Some(column);
        problem
    })
}

impl ConfigFile {
    /// Reads a file. Returns `None` if it cannot be used; the reason is added to the problems.
    pub(crate) fn read(
        path: PathBuf,
        layer: Layer,
        strict: bool,
        limits: &Limits,
        loaded: &mut LoadedConfig,
    ) -> Option<Self> {
        let problems = &mut loaded.problems;
        let check = |metadata: &Metadata| {
            // A file named with `--config` was chosen by the user.
            match layer != Layer::Flag && is_owned_by_other(metadata) {
                true => Err(ignored_problem(std::slice::from_ref(&path))),
                false => Ok(()),
            }
        };
        let text = match read_checked(&path, limits, check) {
            Ok(text) => text,
            Err(problem) => {
                problems.push(problem);
                return None;
            }
        };
        loaded.contents.record_read(&path, Some(text.as_bytes()));
        if is_blank(&text) {
            problems.push(empty_problem(&path));
            loaded.empty_files.push(path.clone());
        }
        let mut refused = None;
        if let Some(why) = writable_by_others(&path) {
            let severity = if strict {
                Severity::Error
            } else {
                Severity::Warning
            };
            let message = format!(
                "`{}` {why}, so its servers cannot be trusted",
                shown_path(&path)
            );
            refused = strict.then_some(problems.len());
            problems.push(Problem::new(severity, Reason::ConfigPermission, message).in_file(&path));
        }
        let mut source = SourceText::new(path, text);
        if let Err(error) = source.parse(limits) {
            problems.push(syntax_problem(&source, error));
            return None;
        }
        Some(Self {
            layer,
            source,
            refused,
            refused_roots: Vec::new(),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        self.source.path.parent().unwrap_or(Path::new("/"))
    }

    pub(crate) fn root_entries(&self) -> &[Entry] {
        self.source
            .tree()
            .map(|tree| tree.entries())
            .unwrap_or_default()
    }

    /// Returns a reader for the values of one table of this file.
    pub(crate) fn reader<'a>(
        &'a self,
        server: Option<&'a str>,
        values: &'a Resolver<'a>,
    ) -> TableReader<'a> {
        TableReader {
            source: &self.source,
            values,
            layer: self.layer,
            folder: self.folder(),
            server,
            own_env: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    /// Returns a root table, unless it is duplicated or the file is rejected.
    pub(crate) fn table(&self, key: &str) -> Option<&Entry> {
        let mut found = self.root_entries().iter().filter(|entry| entry.key == key);
        let first = found.next()?;
        (found.next().is_none() && self.refused.is_none()).then_some(first)
    }

    /// Reports unknown and duplicate root keys.
    pub(crate) fn check_root(&mut self, values: &Resolver<'_>, problems: &mut Vec<Problem>) {
        let mut reader = self.reader(None, values);
        match self.source.tree() {
            Some(tree) if !tree.is_empty() && !matches!(tree.value, Value::Map(_)) => {
                let message = format!(
                    "the file must contain a table, but it contains {}",
                    tree.kind()
                );
                reader.invalid(tree.start, message, "start with `servers` or `mcpServers`");
            }
            _ => {}
        }
        let known = |entry: &&Entry| ROOT_KEYS.contains(&entry.key.as_str());
        let first = problems.len() + reader.problems.len();
        reader.duplicates(self.root_entries());
        let twice = duplicates(self.root_entries()).into_iter().enumerate();
        let refused_roots = twice
            .map(|(at, (_, second))| (second.key.clone(), first + at))
            .collect();
        let foreign = is_client_file(&self.source);
        for entry in self.root_entries().iter().filter(|entry| !known(entry)) {
            if foreign || entry.key == "$schema" {
                continue;
            }
            if find(SETTING_KEYS, &entry.key).is_some() {
                reader.misplaced_setting(entry);
            } else {
                reader.unknown_key(entry, "a config file", ROOT_KEYS.iter().copied());
            }
        }
        problems.append(&mut reader.problems);
        self.refused_roots = refused_roots;
    }
}

/// Whether a text is only whitespace. A comment makes a file intentionally empty.
fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

fn empty_problem(path: &Path) -> Problem {
    let message = format!("`{}` is empty", shown_path(path));
    let help = "add servers or delete the file; a running Pegboard keeps the servers it had";
    Problem::warning(Reason::ConfigInvalid, message)
        .help(help)
        .in_file(path)
}

/// The warning about files that were not read because another user owns them.
pub(crate) fn ignored_problem(paths: &[PathBuf]) -> Problem {
    let shown: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", shown_path(path)))
        .collect();
    let (owns, them) = match paths {
        [_] => ("belongs", "it"),
        _ => ("belong", "them"),
    };
    let message = format!(
        "{} {owns} to another user, so nothing in {them} is used",
        shown.join(" and ")
    );
    let help = format!(
        "to use {them}, review and then copy or `chown` {them}, or pass the file with `--config`"
    );
    let problem = Problem::warning(Reason::ConfigPermission, message).help(help);
    match paths.first() {
        Some(first) => problem.in_file(first),
        None => problem,
    }
}

/// The problem for a file that is not valid TOML, YAML or JSON.
pub(crate) fn syntax_problem(source: &SourceText, error: crate::text::SyntaxError) -> Problem {
    let reason = if error.too_large {
        Reason::ConfigTooLarge
    } else {
        Reason::ConfigParse
    };
    let message = format!(
        "the file is not valid {}: {}",
        source.format.name(),
        error.message
    );
    let problem = Problem::error(reason, message).at(source, error.at);
    match error.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
