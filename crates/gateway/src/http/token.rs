//! The tokens of HTTP clients: generated at the first start, each stored in a file of the state directory.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_model::{Reason, Secret, ToolError, ToolResult, UntrustedText};
use tempfile::NamedTempFile;

/// File name of the client token, which allows reading and calling tools.
pub const TOKEN_FILE: &str = "token";
/// File name of the admin token.
pub const ADMIN_TOKEN_FILE: &str = "admin-token";

const RANDOM_BYTES: usize = 32;
/// 32 bytes in base64 without padding.
const TOKEN_LENGTH: usize = 43;

/// Returns the client token of a state directory, and creates it if there is none. Processes that start at the same
/// time get the same token.
///
/// # Errors
/// Fails if the stored token is invalid, or if a new one cannot be stored.
pub fn token(state: &Path) -> ToolResult<Secret> {
    token_of(state, TOKEN_FILE)
}

/// Like [`token`], for the admin token.
///
/// # Errors
/// Fails like [`token`].
pub fn admin_token(state: &Path) -> ToolResult<Secret> {
    token_of(state, ADMIN_TOKEN_FILE)
}

/// Returns the stored client token of a state directory, if there is one.
///
/// # Errors
/// Fails if the stored token is invalid.
pub fn stored_token(state: &Path) -> ToolResult<Option<Secret>> {
    stored(state, TOKEN_FILE)
}

/// Like [`stored_token`], for the admin token.
///
/// # Errors
/// Fails like [`stored_token`].
pub fn stored_admin_token(state: &Path) -> ToolResult<Option<Secret>> {
    stored(state, ADMIN_TOKEN_FILE)
}

fn stored(state: &Path, file: &str) -> ToolResult<Option<Secret>> {
    let path = state.join(file);
    match read(&path).map_err(|error| unusable(&path, &error.to_string()))? {
        TokenFile::Token(token) => Ok(Some(token)),
        TokenFile::Missing => Ok(None),
        TokenFile::Invalid(why) => Err(unusable(&path, why)),
    }
}

/// A token for a serving process.
#[derive(Debug)]
pub struct ServedToken {
    /// The token.
    pub token: Secret,
    /// Why the token could not be stored. Such a token is valid until the process ends, and no other process can read it.
    pub not_stored: Option<ToolError>,
}

/// Like [`token`], but returns a temporary token if a new one cannot be stored.
///
/// # Errors
/// Fails if the stored token is invalid.
pub fn served_token(state: &Path) -> ToolResult<ServedToken> {
    served(state, TOKEN_FILE)
}

/// Like [`served_token`], for the admin token.
///
/// # Errors
/// Fails like [`served_token`].
pub fn served_admin_token(state: &Path) -> ToolResult<ServedToken> {
    served(state, ADMIN_TOKEN_FILE)
}

fn served(state: &Path, file: &str) -> ToolResult<ServedToken> {
    let (token, not_stored) = match token_of(state, file) {
        Ok(token) => (token, None),
        Err(error) if matches!(read(&state.join(file)), Ok(TokenFile::Missing)) => {
            (generate()?, Some(error))
        }
        Err(error) => return Err(error),
    };
    Ok(ServedToken { token, not_stored })
}

fn token_of(state: &Path, file: &str) -> ToolResult<Secret> {
    let path = state.join(file);
    let fault = |error: io::Error| unusable(&path, &error.to_string());
    match read(&path).map_err(fault)? {
        TokenFile::Token(token) => return Ok(token),
        TokenFile::Missing => {}
        TokenFile::Invalid(why) => return Err(unusable(&path, why)),
    }
    let unstorable = |error: io::Error| not_storable(&path, &error);
    let file = write_temporary(state, &generate()?).map_err(unstorable)?;
    match file.persist_noclobber(&path) {
        Ok(_) => sync_folder(state).map_err(unstorable)?,
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unstorable(error.error)),
    }
    match read(&path).map_err(fault)? {
        TokenFile::Token(token) => Ok(token),
        TokenFile::Missing => Err(unusable(&path, "it was deleted at the same time")),
        TokenFile::Invalid(why) => Err(unusable(&path, why)),
    }
}

/// Replaces the client token with a new one.
///
/// # Errors
/// Fails if the new token cannot be stored.
pub fn rotate_token(state: &Path) -> ToolResult<Secret> {
    rotate(state, TOKEN_FILE)
}

/// Replaces the admin token with a new one.
///
/// # Errors
/// Fails if the new token cannot be stored.
pub fn rotate_admin_token(state: &Path) -> ToolResult<Secret> {
    rotate(state, ADMIN_TOKEN_FILE)
}

fn rotate(state: &Path, file: &str) -> ToolResult<Secret> {
    let path = state.join(file);
    let token = generate()?;
    let replaced = write_temporary(state, &token)
        .and_then(|file| file.persist(&path).map_err(|error| error.error))
        .and_then(|_| sync_folder(state));
    replaced.map_err(|error| not_storable(&path, &error))?;
    Ok(token)
}

enum TokenFile {
    Token(Secret),
    Missing,
    Invalid(&'static str),
}

fn read(path: &Path) -> io::Result<TokenFile> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TokenFile::Missing),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Ok(TokenFile::Invalid("it is not a file"));
    }
    if metadata.len() > 2 * TOKEN_LENGTH as u64 {
        return Ok(TokenFile::Invalid("it does not contain a token"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Ok(TokenFile::Invalid("it belongs to another user"));
        }
        if metadata.permissions().mode() & 0o777 != 0o600 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    let text = fs::read_to_string(path)?;
    let text = text.trim();
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    Ok(
        if text.len() == TOKEN_LENGTH && text.bytes().all(is_token) {
            TokenFile::Token(Secret::new(text))
        } else {
            TokenFile::Invalid("it does not contain a token")
        },
    )
}

fn generate() -> ToolResult<Secret> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| ToolError::new(Reason::Internal, format!("no random bytes: {error}")))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random)))
}

/// Writes a token to a synced temporary file that only the owner can read.
fn write_temporary(state: &Path, token: &Secret) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(state)?;
    file.write_all(token.reveal().as_bytes())?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

fn not_storable(path: &Path, error: &io::Error) -> ToolError {
    let path = path.to_string_lossy();
    let message = format!(
        "cannot store the token {}: {error}",
        UntrustedText::new(&path)
    );
    let remedy = "Free disk space, make the directory writable, or set `PEGBOARD_STATE_DIR` to another directory.";
    ToolError::new(Reason::StoreIo, message).with_remedy(remedy)
}

fn unusable(path: &Path, why: &str) -> ToolError {
    let flag = match path.ends_with(ADMIN_TOKEN_FILE) {
        true => " --admin",
        false => "",
    };
    let path = path.to_string_lossy();
    let message = format!("cannot use the token {}: {why}", UntrustedText::new(&path));
    let remedy = format!(
        "Run `pegboard token{flag} --rotate` to create a new one, then give it to your clients."
    );
    ToolError::new(Reason::StoreIo, message).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_03_the_token_is_minted_once_even_when_many_start_at_once() {
        let state = tempfile::tempdir().unwrap();
        let tokens: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| token(state.path()).unwrap().reveal().to_owned()))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(tokens.iter().all(|one| *one == tokens[0]), "{tokens:?}");
        assert_eq!(URL_SAFE_NO_PAD.decode(&tokens[0]).unwrap().len(), 32);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 1);
    }

    #[test]
    fn r_sec_03_a_token_that_cannot_be_stored_lasts_as_long_as_the_program() {
        let folder = tempfile::tempdir().unwrap();
        // A missing directory makes storing fail.
        let state = folder.path().join("missing");
        let served = served_token(&state).unwrap();
        assert_eq!(served.token.reveal().len(), TOKEN_LENGTH);
        let why = served.not_stored.unwrap();
        assert!(why.message.contains("cannot store"), "{why}");
        assert!(!why.remedy.contains("--rotate"), "{}", why.remedy);
        assert!(stored_token(&state).unwrap().is_none());
        let served = served_admin_token(folder.path()).unwrap();
        assert!(served.not_stored.is_none());
        let stored = stored_admin_token(folder.path()).unwrap().unwrap();
        assert_eq!(stored.reveal(), served.token.reveal());
        fs::write(folder.path().join(TOKEN_FILE), "short").unwrap();
        assert!(
            served_token(folder.path()).is_err(),
            "a damaged token is an error"
        );
    }

    #[cfg(unix)]
    #[test]
    fn r_sec_03_only_the_owner_may_read_the_token_also_when_the_file_was_wider() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join(TOKEN_FILE);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let first = token(state.path()).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(token(state.path()).unwrap().reveal(), first.reveal());
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn r_sec_03_a_new_token_replaces_the_old_one_and_a_damaged_one_is_reported() {
        let state = tempfile::tempdir().unwrap();
        let old = token(state.path()).unwrap();
        let new = rotate_token(state.path()).unwrap();
        assert_ne!(old.reveal(), new.reveal());
        assert_eq!(token(state.path()).unwrap().reveal(), new.reveal());
        fs::write(state.path().join(TOKEN_FILE), "short").unwrap();
        let error = token(state.path()).unwrap_err();
        assert!(error.message.contains("token"), "{error}");
        assert!(error.remedy.contains("--rotate"), "{}", error.remedy);
        assert!(rotate_token(state.path()).is_ok() && token(state.path()).is_ok());
    }
}
