//! Errors of the file system and of SQLite.

use std::io;
use std::path::Path;

use pegboard_model::{Reason, ServerName, ToolError, UntrustedText};
use rusqlite::ErrorCode;

use crate::state_dir::UNWRITABLE_REMEDY;

/// An error of the file system.
pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> ToolError {
    ToolError::new(
        Reason::StoreIo,
        format!("could not {doing} {}: {error}", display_path(path)),
    )
}

/// An error of SQLite that does not mean that the file is damaged.
pub(crate) fn sqlite(doing: &str, path: &Path, error: &rusqlite::Error) -> ToolError {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process kept it locked for too long".to_owned()
        }
        Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
        _ => UntrustedText::new(&error.to_string())
            .shortened(300)
            .to_string(),
    };
    ToolError::new(
        Reason::StoreIo,
        format!("could not {doing} {}: {why}", display_path(path)),
    )
}

/// The error of every write to a database that could only be opened for reading.
pub(crate) fn read_only(path: &Path, why: &ToolError) -> ToolError {
    let message = format!(
        "{} can only be read, so new data is not stored: {}",
        display_path(path),
        why.message
    );
    ToolError::new(Reason::StoreIo, message).with_remedy(UNWRITABLE_REMEDY)
}

/// Whether an error means that the file is damaged. The statements are constant, so a plain "SQL error" also means
/// that the schema is damaged.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    if matches!(
        error,
        rusqlite::Error::SqlInputError { .. } | rusqlite::Error::InvalidColumnType(..)
    ) {
        return true;
    }
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::Unknown
                | ErrorCode::TypeMismatch
                | ErrorCode::ConstraintViolation
        )
    )
}

/// A record that was changed outside Pegboard or is damaged.
pub(crate) fn untrusted(server: &ServerName, why: &str) -> ToolError {
    let message = format!("the stored tools of server `{server}` are ignored: {why}");
    ToolError::new(Reason::CacheUntrusted, message).at_server(server)
}

/// A path for messages, escaped and in backticks.
pub(crate) fn display_path(path: &Path) -> String {
    format!("`{}`", UntrustedText::new(&path.to_string_lossy()))
}
