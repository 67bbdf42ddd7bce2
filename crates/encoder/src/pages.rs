//! Releases memory pages of the program file.

#![allow(
    unsafe_code,
    reason = "`madvise` is unsafe because it can discard memory contents; \
              here it is applied only to read-only pages of the program file"
)]

/// Releases the complete pages of some data of the program file; the system loads them again on the next access.
/// Returns whether they were released, which is supported on Linux only.
#[cfg(target_os = "linux")]
pub(crate) fn release_pages(data: &'static [u8]) -> bool {
    use rustix::mm::{Advice, madvise};

    let page = rustix::param::page_size();
    let start = data.as_ptr().addr().next_multiple_of(page);
    let end = (data.as_ptr().addr() + data.len()) / page * page;
    let offset = start - data.as_ptr().addr();
    let Some(inside) = end.checked_sub(start).filter(|length| *length > 0) else {
        return false;
    };
    if !is_file_backed(start, end) {
        return false;
    }
    let first = data.as_ptr().wrapping_add(offset).cast_mut().cast();
    // SAFETY: the pages are within `data`, and `is_file_backed` checked that all of them are a private mapping of a file
    // that this process cannot write to. So no page differs from the file, and a released page has the same contents
    // when it is loaded again, also for a thread that reads it at the same time.
    unsafe { madvise(first, inside, Advice::LinuxDontNeed) }.is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn release_pages(_: &'static [u8]) -> bool {
    false
}

/// Whether a memory range is part of one private, read-only mapping of a file. It is not if the program was unpacked
/// into memory at start-up; released pages would then be zeros.
#[cfg(target_os = "linux")]
fn is_file_backed(start: usize, end: usize) -> bool {
    let Ok(mappings) = std::fs::read_to_string("/proc/self/maps") else {
        return false;
    };
    mappings
        .lines()
        .any(|line| is_file_mapping(line, start, end))
}

/// Parses a line such as `55d0a000-55d0c000 r--p 00002000 fd:01 1234 /usr/bin/pegboard`.
#[cfg(target_os = "linux")]
fn is_file_mapping(line: &str, start: usize, end: usize) -> bool {
    let mut parts = line.split_ascii_whitespace();
    let (Some(range), Some(rights)) = (parts.next(), parts.next()) else {
        return false;
    };
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    let bounds = range.split_once('-');
    let bounds = bounds.and_then(|(from, to)| Some((number(from)?, number(to)?)));
    let contains = bounds.is_some_and(|(from, to)| from <= start && end <= to);
    let is_read_only = matches!(rights, "r--p" | "r-xp");
    let has_inode = parts.nth(2).is_some_and(|inode| inode != "0");
    contains && is_read_only && has_inode
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_read_only_mappings_of_files_are_released() {
        let check = |line, expected| {
            assert_eq!(is_file_mapping(line, 0x2000, 0x4000), expected, "{line}");
        };
        check("1000-5000 r--p 00000000 fd:01 12 /usr/bin/pegboard", true);
        check("2000-4000 r-xp 00000000 fd:01 12 /usr/bin/pegboard", true);
        check("1000-5000 rw-p 00000000 fd:01 12 /usr/bin/pegboard", false);
        check("1000-5000 r--s 00000000 fd:01 12 /usr/bin/pegboard", false);
        check("1000-5000 r--p 00000000 00:00 0 ", false);
        check("3000-5000 r--p 00000000 fd:01 12 /usr/bin/pegboard", false);
        check("1000-3000 r--p 00000000 fd:01 12 /usr/bin/pegboard", false);
        check("", false);
    }

    #[test]
    fn memory_without_a_file_keeps_its_contents() {
        let data: &'static [u8] = vec![7; 1 << 16].leak();
        assert!(!release_pages(data));
        assert!(data.iter().all(|byte| *byte == 7));
    }
}
