//! `scripts/check-words` with files that use replaced words, and with this repository.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and runs the script under test"
)]

use std::path::Path;
use std::process::Command;

/// Runs the script for a file with this text. Returns whether it reports the file.
fn is_reported(text: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sample.rs");
    std::fs::write(&file, text).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new("bash")
        .arg(root.join("scripts/check-words"))
        .arg(&file)
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&ran.stdout);
    let names_line = output.contains(&format!("{}:1:", file.display()));
    assert_eq!(ran.status.success(), !names_line, "{output}");
    names_line
}

#[test]
fn replaced_words_are_reported_in_texts_and_identifiers() {
    for text in [
        "// The client is told.",
        "// Told the client.",
        "let is_told = true;",
        "fn told_client() {}",
        "const PATIENCE: u8 = 1;",
        "struct CallWish;",
        "struct WishList;",
        "// It is tried once more.",
    ] {
        assert!(is_reported(text), "{text}");
    }
}

#[test]
fn parts_of_other_words_are_not_reported() {
    for text in [
        "// Recommended: replies, families, bellow, standsfree and stdout.",
        "let supplies = years;",
        "fn earliest() {}",
        "struct Linear;",
    ] {
        assert!(!is_reported(text), "{text}");
    }
}
