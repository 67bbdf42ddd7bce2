//! Where this crate's servers are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Set to `built` when the binaries are known to be there (a run over the whole workspace).
const BUILT: &str = "PEGBOARD_TEST_BINARIES";

/// The path of one of this crate's binaries: `pegboard-hostile` or `pegboard-replay`. Builds them first,
/// once per process, so that the tests of a single crate work on their own; `PEGBOARD_TEST_BINARIES=built`
/// leaves that out.
///
/// # Panics
/// When they cannot be built, or there is no such binary.
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
        "{} is not there; run `cargo build -p pegboard-testkit --bins`",
        path.display()
    );
    path
}

/// `target/PROFILE`: test executables lie in `deps` below it, examples in `examples`.
fn profile_folder() -> PathBuf {
    let own = std::env::current_exe().expect("a test executable knows its path");
    let folder = own.parent().expect("an executable lies in a folder");
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
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the test servers do not build:\n{told}"
    );
}
