//! Passes the list of frequently used functions to the linker, if `scripts/build-dist` created one. The linker places
//! them next to each other. Scattered over the program, each would load sixteen pages of its neighbours into memory.
//!
//! Also finds the commit and the build profile for `pegboard --version`. Both depend on the source alone, so builds
//! stay reproducible.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The variable with the path of the linker script that `benches/layout` writes.
const LAYOUT: &str = "PEGBOARD_LAYOUT";
/// The variable with the commit, for packages that are built from a source archive.
const COMMIT: &str = "PEGBOARD_COMMIT";
/// The number of characters shown of a commit.
const COMMIT_CHARS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={LAYOUT}");
    if let Ok(path) = env::var(LAYOUT) {
        println!("cargo:rerun-if-changed={path}");
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{path}");
    }
    println!("cargo:rerun-if-env-changed={COMMIT}");
    let commit = commit().unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=PEGBOARD_BUILD_COMMIT={commit}");
    let profile = profile().unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=PEGBOARD_BUILD_PROFILE={profile}");
}

/// Returns the commit from the environment, from the repository, or from the file that `cargo package` adds.
fn commit() -> Option<String> {
    let crate_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
    let given = env::var(COMMIT).ok();
    let commit = given
        .and_then(|text| checked(&text))
        .or_else(|| from_repository(&crate_dir.join("../../.git")))
        .or_else(|| from_package(&crate_dir.join(".cargo_vcs_info.json")))?;
    Some(commit.chars().take(COMMIT_CHARS).collect())
}

/// Returns the text if it is a commit.
fn checked(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (text.len() >= 7 && is_hex).then(|| text.to_ascii_lowercase())
}

/// Reads the current commit of a repository, without the program `git`.
fn from_repository(git: &Path) -> Option<String> {
    let git = match fs::read_to_string(git) {
        // A linked work tree or a submodule.
        Ok(text) => git.parent()?.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git.to_owned(),
    };
    let head = watched(&git.join("HEAD"))?;
    // A commit changes the log of HEAD even if the branch is only in `packed-refs`.
    let _ = watched(&git.join("logs/HEAD"));
    let Some(branch) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return checked(&head);
    };
    let common = match fs::read_to_string(git.join("commondir")) {
        Ok(text) => git.join(text.trim()),
        Err(_) => git,
    };
    let loose = watched(&common.join(branch)).and_then(|text| checked(&text));
    loose.or_else(|| {
        let packed = watched(&common.join("packed-refs"))?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        let (commit, _) = lines.find(|(_, name)| *name == branch)?;
        checked(commit)
    })
}

/// Reads a file, and builds again when it changes. A missing file is not watched, because Cargo would always build
/// again.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo:rerun-if-changed={}", path.display());
    Some(text)
}

fn from_package(path: &Path) -> Option<String> {
    let text = watched(path)?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    checked(rest.split('"').nth(1)?)
}

/// Returns the name of the build profile. `PROFILE` has only `debug` and `release`, but the path of the output has the
/// name: `target/PROFILE/build/CRATE/out`.
fn profile() -> Option<String> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let name = out.ancestors().nth(3)?.file_name()?.to_str()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name.chars().all(is_name) {
        true => Some(name.to_owned()),
        false => env::var("PROFILE").ok(),
    }
}
