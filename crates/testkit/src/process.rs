//! Information about processes, from `/proc`.

use std::fs;

/// The processes, except this one, whose environment or command line contains a text. A test puts a
/// unique text into a server's environment and asserts at the end that no such process is left. Zombies
/// have neither, so a child that ended and was not waited for is not counted.
pub fn processes_with_marker(needle: &str) -> Vec<u32> {
    let own = std::process::id();
    let mut found: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && carries(*pid, needle.as_bytes()))
        .collect();
    found.sort_unstable();
    found
}

fn carries(pid: u32, needle: &[u8]) -> bool {
    ["environ", "cmdline"].iter().any(|file| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        !needle.is_empty() && bytes.windows(needle.len()).any(|window| window == needle)
    })
}

/// Whether a process exists and has not ended.
pub fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the command in parentheses, which may itself contain parentheses.
    matches!(stat.rsplit_once(") "), Some((_, rest)) if !rest.starts_with(['Z', 'X']))
}

/// The resident memory of a process in KiB; `None` if it has ended.
pub fn rss_kib(pid: u32) -> Option<u64> {
    status_kib(&pid.to_string(), "VmRSS:")
}

fn status_kib(process: &str, key: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The resident memory of this process in KiB.
///
/// # Panics
/// If there is no `/proc`.
pub fn own_rss_kib() -> u64 {
    status_kib("self", "VmRSS:").expect("tests that measure memory need /proc")
}

/// The peak resident memory of this process in KiB.
///
/// # Panics
/// If there is no `/proc`.
pub fn own_peak_rss_kib() -> u64 {
    status_kib("self", "VmHWM:").expect("tests that measure memory need /proc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "starts a process for the test")]
    fn a_marked_process_is_found_while_it_runs() {
        let marker = format!("pegboard-marker-{}", std::process::id());
        let mut child = Command::new("sleep")
            .arg("1000")
            .env("MARK", &marker)
            .spawn()
            .unwrap();
        let pid = child.id();
        crate::wait_until_sync(
            "the marked process",
            std::time::Duration::from_secs(5),
            || processes_with_marker(&marker) == [pid],
        );
        assert!(is_alive(pid));
        assert!(rss_kib(pid).is_some_and(|kib| kib > 0));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(processes_with_marker(&marker).is_empty());
        assert!(!is_alive(pid));
        assert_eq!(rss_kib(pid), None);
    }
}
