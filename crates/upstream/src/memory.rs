//! The memory of a server's processes, as reported by the system.

use crate::process::{Process, folder};

/// Returns the resident memory of a process and its descendants in bytes. Pages that they share are counted for each
/// of them. Returns `None` if the process does not exist, or if the system does not report it.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    let process = Process::open(i32::try_from(pid).ok()?)?;
    let own = resident_of(process.pid())?;
    let descendants = process.descendants();
    let others = descendants
        .iter()
        .filter_map(|child| resident_of(child.pid()));
    Some(others.fold(own, u64::saturating_add))
}

pub(crate) fn resident_of(pid: i32) -> Option<u64> {
    let status = std::fs::read(folder(pid).join("status")).ok()?;
    resident_in(&String::from_utf8_lossy(&status))
}

/// Reads the resident memory from the text of `/proc/PID/status`.
fn resident_in(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_memory_is_read_from_the_status() {
        for (status, expected) in [
            ("Name:\tx\nVmRSS:\t    120 kB\nThreads: 1", Some(120 * 1024)),
            ("Name:\tVmRSS: 5 kB", None),
            ("VmRSS:\t-1 kB", None),
            ("VmRSS:\t18446744073709551615 kB", None),
            ("", None),
        ] {
            assert_eq!(resident_in(status), expected, "{status}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_does_not_exist_has_no_memory() {
        assert!(resident_bytes(std::process::id()).unwrap() > 100_000);
        assert_eq!(resident_bytes(u32::MAX), None);
    }
}
