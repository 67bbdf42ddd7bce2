//! Puts the functions that usual work runs side by side into the released program. Scattered over all of it, each of
//! them brings sixteen pages of its neighbours into memory. `benches/layout` writes the list.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=layout.ld");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    // Another linker than the compiler's own may not understand the file.
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_usual = var("RUSTC_LINKER").is_err() && !flags.contains("link");
    if is_usual && is("PROFILE", "release") && is("TARGET", "x86_64-unknown-linux-gnu") {
        let folder = var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{folder}/layout.ld");
    }
}
