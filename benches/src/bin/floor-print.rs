//! The floor of a cold listing: reads a file and prints it.

#![allow(clippy::print_stderr, reason = "a benchmark program")]

use std::io::Write;

fn main() -> std::io::Result<()> {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: floor-print FILE");
        return Ok(());
    };
    std::io::stdout().lock().write_all(&std::fs::read(file)?)
}
