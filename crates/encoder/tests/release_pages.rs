//! Released memory is loaded again when it is needed. This test has its own process, because it measures memory.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails on unexpected values"
)]

use pegboard_encoder::{Encoder, TextKind};

#[test]
fn r_find_02_a_released_encoder_keeps_no_weights_in_memory() {
    let encoder = Encoder::embedded().unwrap();
    let encode = || encoder.encode("turn the report into a table", TextKind::Query);
    let vector = encode();
    let held = mapped_kilobytes();
    encoder.release_memory();
    let at_rest = mapped_kilobytes();
    if cfg!(target_os = "linux") {
        // The matrices take 10.6 MB.
        assert!(at_rest + 8 * 1024 < held, "{held} kB, then {at_rest} kB");
    }
    assert_eq!(vector.as_slice(), encode().as_slice());
    encoder.release_memory();
    encoder.release_memory();
    assert_eq!(vector.as_slice(), encode().as_slice());
}

/// Memory of this process that is backed by files.
fn mapped_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("RssFile:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok());
    number.unwrap_or(0)
}
