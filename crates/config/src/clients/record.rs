//! The record of what `connect` has written, in the state folder.

use std::path::{Path, PathBuf};

use pegboard_model::Reason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rewrite::Taken;
use super::write::make_private;
use crate::atomic::{WriteLock, create_private_folder, write_file_atomically};
use crate::problem::{Problem, shown_path};
use crate::regular_file::read_regular_file;

/// Maximum size of the record. It contains the text of servers that were taken out.
const MAX_RECORD_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum size of a back-up, above that of a client's file.
const MAX_BACKUP_BYTES: u64 = 128 * 1024 * 1024;
/// Permissions of the record and of back-ups: they contain clients' tokens.
const OWNER_ONLY: u32 = 0o600;
/// The extension of back-ups that outlive their connection.
const FORMER: &str = "former";

/// One file of a client that is connected to Pegboard.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Connection {
    /// The client's key.
    pub(crate) client: String,
    /// The file, without links.
    pub(crate) file: PathBuf,
    /// The hash of the file before; `None` if it did not exist.
    pub(crate) before: Option<String>,
    /// The hash of the file that was replaced. It differs from `before` if the client was connected already.
    pub(crate) replaced: Option<String>,
    /// The hash of the file after.
    pub(crate) after: String,
    /// The name of the back-up.
    pub(crate) backup: Option<String>,
    /// Folders that were created for the file, the outermost first.
    pub(crate) created_folders: Vec<PathBuf>,
    /// How many keys of the servers' table were created.
    pub(crate) created_keys: usize,
    /// Pegboard's entry.
    pub(crate) entry: Value,
    /// The servers that were taken out.
    pub(crate) taken_out: Vec<Taken>,
    /// Whether the file was written. The record is written first, so that a crash in between loses nothing.
    pub(crate) is_done: bool,
    /// The record that this one replaces, until the file is written.
    pub(crate) previous: Option<Box<Connection>>,
}

impl Connection {
    /// Whether Pegboard's entry contains a token, and not a reference to a variable.
    fn has_token(&self) -> bool {
        let fields = self.entry.as_object().into_iter().flatten();
        let headers = fields.filter_map(|(_, value)| value.get("Authorization")?.as_str());
        let mut tokens = headers.filter_map(|header| header.strip_prefix("Bearer "));
        tokens.any(|token| !token.starts_with(['$', '{']))
    }

    /// Whether the record describes this content of the file, and not an attempt that was interrupted before the file
    /// was written.
    fn describes(&self, content: Option<&[u8]>) -> bool {
        self.is_done || content.map(hash) != self.replaced
    }
}

/// The stored connections of all clients.
#[derive(Debug)]
pub(crate) struct Connections {
    folder: PathBuf,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct RecordFile {
    connections: Vec<Connection>,
}

impl Connections {
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self {
            folder: state_dir.join("clients"),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("connections.json")
    }

    /// Takes the lock of all changes to clients' files. It is released when the returned value is dropped. Deletes the
    /// temporary files that a crash has left, because only the owner of the lock writes any.
    pub(crate) fn lock(&self) -> Result<WriteLock, Problem> {
        let file = self.file();
        let lock = || {
            create_private_folder(&self.folder)?;
            WriteLock::take(&file)
        };
        let lock = lock().map_err(|error| Problem::io(&file, "write", &error))?;
        self.delete_files(|name| name.starts_with(".pegboard-") && name.ends_with(".tmp"));
        Ok(lock)
    }

    /// Returns all connections. Without a record there are none; a damaged record is an error, because the undo would
    /// be lost without a word.
    pub(crate) fn all(&self) -> Result<Vec<Connection>, Problem> {
        let file = self.file();
        let bytes = match read_regular_file(&file, MAX_RECORD_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            Err(error) => return Err(Problem::io(&file, "read", &error.into())),
        };
        let parsed: Result<RecordFile, _> = serde_json::from_slice(&bytes);
        let parsed = parsed.map_err(|_| {
            let message = format!("`{}` is damaged", shown_path(&file));
            let help = "move it away; the back-ups of the clients' files are beside it";
            Problem::error(Reason::ConfigParse, message)
                .help(help)
                .in_file(&file)
        })?;
        Ok(parsed.connections)
    }

    /// Returns the connection of a client's file, given the content of the file.
    pub(crate) fn find(
        &self,
        client: &str,
        file: &Path,
        content: Option<&[u8]>,
    ) -> Result<Option<Connection>, Problem> {
        let mut all = self.all()?.into_iter();
        let found = all.find(|connection| connection.client == client && connection.file == file);
        Ok(
            found.and_then(|connection| match connection.describes(content) {
                true => Some(connection),
                false => connection.previous.map(|previous| *previous),
            }),
        )
    }

    /// Stores a connection in place of an earlier one of the same file. The caller holds the lock. A file that is going
    /// to contain a token of Pegboard is made private first, and keeps its permissions when it is written.
    pub(crate) fn put(&self, connection: Connection) -> Result<(), Problem> {
        if !connection.is_done && connection.has_token() {
            make_private(&connection.file)?;
        }
        let mut all = self.all()?;
        all.retain(|other| other.client != connection.client || other.file != connection.file);
        all.push(connection);
        self.write(all)
    }

    /// Removes the connection of a file. The caller holds the lock.
    pub(crate) fn remove(&self, client: &str, file: &Path) -> Result<(), Problem> {
        let mut all = self.all()?;
        let before = all.len();
        all.retain(|other| other.client != client || other.file != file);
        if all.len() == before {
            return Ok(());
        }
        self.write(all)
    }

    fn write(&self, connections: Vec<Connection>) -> Result<(), Problem> {
        let file = self.file();
        let kept: Vec<String> = connections.iter().flat_map(backups).collect();
        let write = || {
            let bytes = serde_json::to_vec_pretty(&RecordFile { connections })?;
            write_file_atomically(&file, &bytes, OWNER_ONLY)
        };
        write().map_err(|error: std::io::Error| Problem::io(&file, "write", &error))?;
        self.delete_other_backups(&kept);
        Ok(())
    }

    /// Stores a back-up of a file's content. Returns its name.
    pub(crate) fn back_up(&self, client: &str, content: &[u8]) -> Result<String, Problem> {
        let hash = hash(content);
        let name = format!("{client}-{}.bak", hash.get(..16).unwrap_or(&hash));
        let path = self.folder.join(&name);
        write_file_atomically(&path, content, OWNER_ONLY)
            .map_err(|error| Problem::io(&path, "write", &error))?;
        Ok(name)
    }

    /// Returns the content of a back-up, or `None` if it is missing or was changed.
    pub(crate) fn backed_up(&self, connection: &Connection) -> Option<Vec<u8>> {
        let path = self.folder.join(connection.backup.as_ref()?);
        let bytes = read_regular_file(&path, MAX_BACKUP_BYTES).ok()?;
        (Some(hash(&bytes)) == connection.before).then_some(bytes)
    }

    /// Where [`keep_backup`](Self::keep_backup) puts the back-up of a connection, if there is one.
    pub(crate) fn kept_backup(&self, connection: &Connection) -> Option<PathBuf> {
        self.backed_up(connection)?;
        let name = connection.backup.as_ref()?;
        Some(self.folder.join(name).with_extension(FORMER))
    }

    /// Keeps the back-up of a connection that is going to be removed. The caller holds the lock.
    pub(crate) fn keep_backup(&self, kept: &Path) -> Result<(), Problem> {
        let backup = kept.with_extension("bak");
        // A copy, because another connection may have the same back-up.
        let bytes = read_regular_file(&backup, MAX_BACKUP_BYTES)
            .map_err(|error| Problem::io(&backup, "read", &error.into()))?;
        write_file_atomically(kept, &bytes, OWNER_ONLY)
            .map_err(|error| Problem::io(kept, "write", &error))
    }

    /// Deletes back-ups that no record needs.
    fn delete_other_backups(&self, kept: &[String]) {
        self.delete_files(|name| name.ends_with(".bak") && !kept.iter().any(|kept| kept == name));
    }

    /// Deletes files of the folder by their names. One that cannot be deleted does no harm.
    fn delete_files(&self, is_unused: impl Fn(&str) -> bool) {
        for entry in std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
        {
            if is_unused(&entry.file_name().to_string_lossy()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

fn backups(connection: &Connection) -> Vec<String> {
    let mut names: Vec<String> = connection.backup.iter().cloned().collect();
    if let Some(previous) = &connection.previous {
        names.extend(backups(previous));
    }
    names
}

/// The hash of a file's content.
pub(crate) fn hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}
