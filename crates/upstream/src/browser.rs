//! Recognises the one kind of process that a server may leave behind: a browser in which the user logs in.
//!
//! A server that needs a login opens the URL in the user's browser. If no browser was running, the new browser is a
//! child of the server, but it belongs to the user from then on.

use std::path::Path;

/// Executable names of browsers.
const BROWSERS: &[&str] = &[
    "brave",
    "brave-browser",
    "chrome",
    "chromium",
    "chromium-browser",
    "epiphany",
    "falkon",
    "firefox",
    "firefox-bin",
    "firefox-esr",
    "google-chrome",
    "konqueror",
    "librewolf",
    "microsoft-edge",
    "msedge",
    "opera",
    "vivaldi",
    "vivaldi-bin",
];

/// Options of browsers that are controlled by a program. Users do not log in with these.
const CONTROLLED: &[&str] = &[
    "--headless",
    "-headless",
    "--remote-debugging",
    "--marionette",
    "-marionette",
    "--enable-automation",
];

/// The longest command line that is inspected.
const COMMAND_LINE_BYTES: u64 = 128 * 1024;

/// Returns whether a process is a browser that is installed system-wide and not controlled by a program.
pub(crate) fn is_opened_browser(process: &Path) -> bool {
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    let link = process.join("exe");
    let Ok(program) = std::fs::read_link(&link) else {
        return false;
    };
    if !has_browser_name(&program) {
        return false;
    }
    let mut line = Vec::new();
    let read = std::fs::File::open(process.join("cmdline"))
        .and_then(|file| file.take(COMMAND_LINE_BYTES).read_to_end(&mut line));
    let us = rustix::process::geteuid().as_raw();
    // Through the process's own link, because the process may see other files under the same path.
    std::fs::metadata(&link).is_ok_and(|about| is_installed(about.uid(), about.mode(), us))
        && read.is_ok()
        && !is_controlled(&line)
}

fn has_browser_name(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| BROWSERS.contains(&name))
}

/// A file that we could have written does not count, whatever its name: a server could have written it as well.
fn is_installed(owner: u32, mode: u32, us: u32) -> bool {
    const ROOT: u32 = 0;
    owner == ROOT && us != ROOT && mode & 0o022 == 0
}

fn is_controlled(command_line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(command_line);
    line.split('\0')
        .any(|word| CONTROLLED.iter().any(|option| word.starts_with(option)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_sec_04_only_an_installed_browser_that_no_program_controls_is_spared() {
        assert!(has_browser_name(Path::new("/usr/lib/firefox/firefox")));
        assert!(!has_browser_name(Path::new("/usr/bin/firefox-helper")));
        assert!(is_installed(0, 0o100_755, 1000));
        for (owner, mode, us) in [(1000, 0o755, 1000), (0, 0o777, 1000), (0, 0o755, 0)] {
            assert!(!is_installed(owner, mode, us), "{owner} {mode:o} {us}");
        }
        assert!(!is_controlled(
            b"/opt/google/chrome/chrome\0https://login.example.com\0"
        ));
        for option in [
            "--headless=new",
            "--remote-debugging-pipe",
            "--enable-automation",
        ] {
            assert!(
                is_controlled(format!("chrome\0{option}\0").as_bytes()),
                "{option}"
            );
        }
        assert!(!is_opened_browser(Path::new("/proc/self")));
    }
}
