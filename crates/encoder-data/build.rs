//! Rearranges the weights into the order in which they are multiplied.

#![allow(
    clippy::print_stdout,
    reason = "a build script prints instructions for cargo"
)]

mod blocks;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=blocks.rs");
    println!("cargo::rerun-if-changed=model.int8.safetensors");
    let model = fs::read("model.int8.safetensors")?;
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(folder.join("weights"), blocks::in_blocks(&model)?)?;
    Ok(())
}
