//! The file through which a browser gets a one-time login.
//!
//! A command line can be read by every user of the machine, so the browser is started with the path of a private file,
//! and the file leads to the address with the code.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pegboard_config::write_file_atomically;
use pegboard_web::LOGIN_CODE_LIFETIME;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

const FILE: &str = "open-dashboard.html";
/// How often a file whose code counts no longer is looked for.
const EXPIRY_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// What needs no escape in the path of a `file:` address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Writes the file that leads to `url`, and returns its own address. It replaces a former one.
pub(crate) fn write(state: &Path, url: &str) -> io::Result<String> {
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

/// Removes the file, for example because a browser was logged in.
pub(super) fn remove(state: &Path) {
    // It may not be there, and a code that was used or is too old opens nothing.
    let _ = std::fs::remove_file(path(state));
}

/// Removes the file once its code counts no longer, for as long as this is waited for.
pub(crate) async fn expire(state: &Path) {
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
