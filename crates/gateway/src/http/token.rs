//! The tokens that HTTP clients show: minted at the first start, each kept in one file of the state folder.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pegboard_model::{Reason, Secret, ToolError, ToolResult, UntrustedText};
use tempfile::NamedTempFile;

/// The name of the file in the state folder whose token reads and calls tools.
pub const TOKEN_FILE: &str = "token";
/// The same of the token that administers, too.
pub const ADMIN_TOKEN_FILE: &str = "admin-token";

const RANDOM_BYTES: usize = 32;
/// 32 bytes in base64 without padding.
const TOKEN_LENGTH: usize = 43;

/// The token of this state folder; a new one at the first call. Processes that start for the first time
/// together all get the same one.
pub fn token(state: &Path) -> ToolResult<Secret> {
    token_of(state, TOKEN_FILE)
}

/// The same of the token that administers.
pub fn admin_token(state: &Path) -> ToolResult<Secret> {
    token_of(state, ADMIN_TOKEN_FILE)
}

/// The stored token of this state folder, if there is one.
///
/// # Errors
/// Fails if the stored token cannot be used.
pub fn stored_token(state: &Path) -> ToolResult<Option<Secret>> {
    stored(state, TOKEN_FILE)
}

/// The same of the token that administers.
///
/// # Errors
/// Fails as [`stored_token`] does.
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

/// A token for a program that serves.
#[derive(Debug)]
pub struct ServedToken {
    /// The token.
    pub token: Secret,
    /// Why it could not be stored: it counts until the program ends, and no other program can read it.
    pub not_stored: Option<ToolError>,
}

/// The token of this state folder; where there is none and none can be stored, one that lasts as long as the program.
///
/// # Errors
/// Fails if the stored token cannot be used.
pub fn served_token(state: &Path) -> ToolResult<ServedToken> {
    served(state, TOKEN_FILE)
}

/// The same of the token that administers.
///
/// # Errors
/// Fails as [`served_token`] does.
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
        TokenFile::Missing => Err(unusable(&path, "it is gone again")),
        TokenFile::Invalid(why) => Err(unusable(&path, why)),
    }
}

/// Makes a new token in place of the old one, whatever that was.
pub fn rotate_token(state: &Path) -> ToolResult<Secret> {
    rotate(state, TOKEN_FILE)
}

/// The same of the token that administers.
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
        return Ok(TokenFile::Invalid("it does not hold a token"));
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
            TokenFile::Invalid("it does not hold a token")
        },
    )
}

fn generate() -> ToolResult<Secret> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| ToolError::new(Reason::Internal, format!("no random bytes: {error}")))?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random)))
}

/// A file that only the owner may read, whole and on disk, still without its name.
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
        "the token {} cannot be stored: {error}",
        UntrustedText::new(&path)
    );
    let remedy = "Make room on the disk or make the folder writable, or name another one with `PEGBOARD_STATE_DIR`.";
    ToolError::new(Reason::StoreIo, message).with_remedy(remedy)
}

fn unusable(path: &Path, why: &str) -> ToolError {
    let flag = match path.ends_with(ADMIN_TOKEN_FILE) {
        true => " --admin",
        false => "",
    };
    let path = path.to_string_lossy();
    let message = format!(
        "the token {} cannot be used: {why}",
        UntrustedText::new(&path)
    );
    let remedy = format!(
        "Make a new one with `pegboard token{flag} --rotate`, and give it to your clients."
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
        // No file can be created in a folder that is missing.
        let state = folder.path().join("missing");
        let served = served_token(&state).unwrap();
        assert_eq!(served.token.reveal().len(), TOKEN_LENGTH);
        let why = served.not_stored.unwrap();
        assert!(why.message.contains("cannot be stored"), "{why}");
        assert!(!why.remedy.contains("--rotate"), "{}", why.remedy);
        assert!(stored_token(&state).unwrap().is_none());
        let served = served_admin_token(folder.path()).unwrap();
        assert!(served.not_stored.is_none());
        let stored = stored_admin_token(folder.path()).unwrap().unwrap();
        assert_eq!(stored.reveal(), served.token.reveal());
        fs::write(folder.path().join(TOKEN_FILE), "short").unwrap();
        assert!(
            served_token(folder.path()).is_err(),
            "a damaged one is a fault"
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
    fn r_sec_03_a_new_token_replaces_the_old_one_and_a_damaged_one_is_told() {
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
