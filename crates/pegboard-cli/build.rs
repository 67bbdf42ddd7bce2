//! Passes the list of frequently used functions to the linker, if `scripts/build-dist` created one. The linker places
//! them next to each other. Scattered over the program, each would load sixteen pages of its neighbours into memory.

use std::env;

/// The variable with the path of the linker script that `benches/layout` writes.
const LAYOUT: &str = "PEGBOARD_LAYOUT";

fn main() {
    println!("cargo:rerun-if-env-changed={LAYOUT}");
    if let Ok(path) = env::var(LAYOUT) {
        println!("cargo:rerun-if-changed={path}");
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{path}");
    }
}
