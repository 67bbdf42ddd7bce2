//! Revisions of the protocol, which are dates.

/// The newest revision without a handshake, in which every request stands alone.
pub const MODERN: &str = "2026-07-28";
/// The newest revision with an `initialize` handshake.
pub const LATEST_LEGACY: &str = "2025-11-25";
/// The supported revisions, newest first.
pub const SUPPORTED: &[&str] = &[
    MODERN,
    LATEST_LEGACY,
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];
/// The supported revisions without a handshake, newest first.
pub const MODERN_REVISIONS: &[&str] = SUPPORTED.split_at(1).0;
/// The supported revisions with a handshake, newest first.
pub const LEGACY_REVISIONS: &[&str] = SUPPORTED.split_at(1).1;

/// Returns whether a revision, supported or not, is modern. Later dates are greater as strings.
pub fn is_modern(revision: &str) -> bool {
    let is_date = revision.len() == MODERN.len()
        && revision.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date && revision >= MODERN
}
