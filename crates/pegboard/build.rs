//! Hands the linker the list of functions that usual work runs, if `scripts/build-dist` made one. The linker then puts
//! them side by side. Scattered over the program, each of them brings sixteen pages of its neighbours into memory.

use std::env;

/// Names the linker script that `benches/layout` wrote.
const LAYOUT: &str = "PEGBOARD_LAYOUT";

fn main() {
    println!("cargo:rerun-if-env-changed={LAYOUT}");
    if let Ok(path) = env::var(LAYOUT) {
        println!("cargo:rerun-if-changed={path}");
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{path}");
    }
}
