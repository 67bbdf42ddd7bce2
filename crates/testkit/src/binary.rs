//! Locates and builds this crate's binaries.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Set to `built` if the binaries exist already (a run over the whole workspace).
const BUILT: &str = "PEGBOARD_TEST_BINARIES";

/// The path of one of this crate's binaries, such as `pegboard-hostile`. Builds them first, once per
/// process, so that the tests of a single crate work on their own; `PEGBOARD_TEST_BINARIES=built` skips
/// the build.
///
/// # Panics
/// If the build fails or there is no such binary.
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = profile_folder();
        if std::env::var_os(BUILT).is_none_or(|value| value != "built") {
            build(&folder);
        }
        folder
    });
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "{} does not exist; run `cargo build -p pegboard-testkit --bins`",
        path.display()
    );
    path
}

/// `target/PROFILE`. Test executables are in its subdirectory `deps`, examples in `examples`.
fn profile_folder() -> PathBuf {
    let own = std::env::current_exe().expect("a test executable knows its path");
    let folder = own.parent().expect("an executable is in a directory");
    match folder.file_name().and_then(|name| name.to_str()) {
        Some("deps" | "examples") => folder.parent().unwrap_or(folder).to_path_buf(),
        _ => folder.to_path_buf(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "builds the servers that tests start"
)]
fn build(folder: &Path) {
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let target = folder.parent().unwrap_or(folder);
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "build",
            "-q",
            "-p",
            "pegboard-testkit",
            "--bins",
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the test servers do not build:\n{stderr}"
    );
}
