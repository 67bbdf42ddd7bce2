//! What an encoder holds is given back, and comes again. It is alone in its process, because memory is counted.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at what it does not expect"
)]

use pegboard_encoder::{Encoder, TextKind};

#[test]
fn r_find_02_an_encoder_at_rest_holds_no_weights() {
    let encoder = Encoder::embedded().unwrap();
    let encode = || encoder.encode("turn the report into a table", TextKind::Query);
    let vector = encode();
    let held = mapped_kilobytes();
    encoder.release_memory();
    let at_rest = mapped_kilobytes();
    if cfg!(target_os = "linux") {
        // The matrices have 10.6 MB.
        assert!(at_rest + 8 * 1024 < held, "{held} kB, then {at_rest} kB");
    }
    assert_eq!(vector.as_slice(), encode().as_slice());
    encoder.release_memory();
    encoder.release_memory();
    assert_eq!(vector.as_slice(), encode().as_slice());
}

/// How much of files this process has in memory.
fn mapped_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssFile:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}
