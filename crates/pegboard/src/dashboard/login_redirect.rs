//! A private file that redirects the browser to a one-time login URL.
//!
//! Every user of the machine can read command lines, so the browser is started with the path of this file instead of
//! the URL with the code.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pegboard_config::write_file_atomically;
use pegboard_web::LOGIN_CODE_LIFETIME;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

const FILE: &str = "open-dashboard.html";
/// The interval of checks for an expired file.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The characters that are escaped in the path of a `file:` URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Writes a file that redirects to `url` and returns its `file:` URL. An existing file is replaced.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write(state: &Path, url: &str) -> io::Result<String> {
    let path = std::path::absolute(path(state))?;
    let url = url
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;");
    let text = format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Pegboard</title>\n\
         <p><a href=\"{url}\">Log in to Pegboard</a></p>\n"
    );
    write_file_atomically(&path, text.as_bytes(), 0o600)?;
    let bytes = path.as_os_str().as_encoded_bytes();
    Ok(format!("file://{}", percent_encode(bytes, PLAIN)))
}

/// Removes the file, for example after a login.
pub(super) fn remove(state: &Path) {
    // The file may not exist, and a used or expired code is harmless.
    let _ = std::fs::remove_file(path(state));
}

/// Removes the file when its code has expired, forever.
pub async fn expire(state: &Path) {
    let mut tick = tokio::time::interval(EXPIRY_CHECK_INTERVAL);
    loop {
        tick.tick().await;
        let written = std::fs::metadata(path(state)).and_then(|about| about.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age >= LOGIN_CODE_LIFETIME) {
            remove(state);
        }
    }
}

fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn r_sec_03_the_file_is_private_and_its_address_holds_no_code() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("my state");
        std::fs::create_dir(&folder).unwrap();
        let url = "http://127.0.0.1:7340/login#code=se\"cret";
        let address = write(&folder, url).unwrap();
        assert!(address.starts_with("file:///") && address.contains("my%20state"));
        assert!(!address.contains("cret"), "{address}");
        let mode = std::fs::metadata(path(&folder))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(path(&folder)).unwrap();
        assert!(text.contains("#code=se&quot;cret\">"), "{text}");
        remove(&folder);
        assert!(!path(&folder).exists());
    }
}
