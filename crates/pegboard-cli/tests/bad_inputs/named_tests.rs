//! Checks that the tests named by rows exist, are not ignored, and are compiled.

use std::fs;
use std::path::{Path, PathBuf};

/// Checks a test function in a file below `crates`.
pub(crate) fn check_named(file: &str, name: &str) -> Result<(), String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = crates.join(file);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    check_function(&text, name)?;
    check_modules(&crates, &path)
}

/// Checks that the function is a test and is not ignored.
fn check_function(text: &str, name: &str) -> Result<(), String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_function = |line: &&str| {
        let rest = line.strip_prefix("async ").unwrap_or(line);
        let rest = rest.strip_prefix("fn ");
        rest.and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('('))
    };
    let at = lines.iter().position(is_function);
    let at = at.ok_or("there is no such function")?;
    let attributes: Vec<&str> = lines[..at]
        .iter()
        .rev()
        .take_while(|line| !line.is_empty() && **line != "}")
        .copied()
        .collect();
    let is_test = |line: &&str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    if !attributes.iter().any(is_test) {
        return Err("the function is not a test".to_owned());
    }
    // These tests run only on Unix.
    let left_out = |line: &&str| {
        let is_other_system = line.starts_with("#[cfg(") && *line != "#[cfg(unix)]";
        line.starts_with("#[ignore") || is_other_system
    };
    match attributes.iter().find(|line| left_out(line)) {
        Some(attribute) => Err(format!("`{attribute}` leaves it out")),
        None => Ok(()),
    }
}

/// Checks that every module from the file up to the crate root is declared.
fn check_modules(crates: &Path, path: &Path) -> Result<(), String> {
    let mut path = path.to_owned();
    loop {
        let folder = path.parent().ok_or("the file is in no folder")?.to_owned();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let stem = stem.ok_or("the file has no name")?.to_owned();
        // A file directly below `CRATE/tests` is a crate root.
        let above = folder.parent().and_then(Path::parent);
        let is_test = folder.ends_with("tests") && above == Some(crates);
        if is_test || matches!(stem.as_str(), "lib" | "main") {
            return Ok(());
        }
        let declared_in = parents(&folder, &stem);
        let name = match stem.as_str() {
            "mod" => folder
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default()
                .to_owned(),
            _ => stem,
        };
        let declared = declared_in.iter().find(|parent| declares(parent, &name));
        path = declared
            .ok_or_else(|| format!("no module declares `mod {name};`"))?
            .clone();
    }
}

/// Returns the files that may declare a module.
fn parents(folder: &Path, stem: &str) -> Vec<PathBuf> {
    let above = match stem {
        "mod" => folder.parent().unwrap_or(folder),
        _ => folder,
    };
    let mut files: Vec<PathBuf> = ["mod.rs", "lib.rs", "main.rs"]
        .iter()
        .map(|name| above.join(name))
        .collect();
    // A directory can be the module of a file next to it, and a file can be included by its path.
    files.push(above.with_extension("rs"));
    let siblings = fs::read_dir(above).into_iter().flatten().flatten();
    files.extend(siblings.map(|entry| entry.path()));
    files
}

fn declares(file: &Path, name: &str) -> bool {
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    let text = match is_rust {
        true => fs::read_to_string(file).unwrap_or_default(),
        false => return false,
    };
    let is_itself = file.file_stem().is_some_and(|stem| stem == name);
    let declared = |line: &str| {
        let line = line.trim();
        line.ends_with(&format!("mod {name};")) || line == format!("#[path = \"{name}.rs\"]")
    };
    !is_itself && text.lines().any(declared)
}

#[test]
fn missing_ignored_or_undeclared_tests_are_errors() {
    let sound = "#[test]\nfn there() {\n}\n";
    assert_eq!(check_function(sound, "there"), Ok(()));
    for (text, name) in [
        (sound, "the"),
        ("fn there() {\n}\n", "there"),
        ("#[test]\n#[ignore = \"slow\"]\nfn there() {\n}\n", "there"),
        ("#[cfg(windows)]\n#[test]\nfn there() {\n}\n", "there"),
        ("#[test]\nfn other() {\n}\n\nfn there() {\n}\n", "there"),
    ] {
        assert!(check_function(text, name).is_err(), "{text}");
    }
    let table = "pegboard-cli/tests/bad_inputs/table.rs";
    assert_eq!(
        check_named(table, "r_sec_12_every_bad_input_is_run_or_pending"),
        Ok(())
    );
    assert!(check_named("guard/tests/none.rs", "there").is_err());
    let folder = tempfile::tempdir().unwrap();
    let orphan = folder.path().join("orphan.rs");
    fs::write(&orphan, sound).unwrap();
    assert!(check_modules(folder.path().parent().unwrap(), &orphan).is_err());
}
