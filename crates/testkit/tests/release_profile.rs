//! The `release` profile stays quick to build: a fresh machine with two cores builds it in at most four minutes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use toml_edit::{DocumentMut, Item, Table};

/// The crates that are optimised in spite of the time: without it, search and hashing are many times slower.
const OPTIMISED: [&str; 4] = [
    "blake3",
    "pegboard-encoder",
    "pegboard-search",
    "serde_json",
];

fn workspace() -> DocumentMut {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    std::fs::read_to_string(file).unwrap().parse().unwrap()
}

fn keys(table: &Table) -> Vec<&str> {
    let mut keys: Vec<&str> = table.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys
}

/// Returns what makes a profile slow to build.
fn problems(release: &Table) -> Vec<String> {
    let mut problems = Vec::new();
    for (key, value) in release {
        let is_quick = match key {
            "strip" | "package" => true,
            "opt-level" => value.as_integer().is_some_and(|level| level <= 1),
            "lto" => value.as_str() == Some("off") || value.as_bool() == Some(false),
            "incremental" => value.as_bool() == Some(false),
            "debug" => value.as_integer() == Some(0) || value.as_bool() == Some(false),
            // Among them `codegen-units`, of which one would leave the second core idle.
            _ => false,
        };
        if !is_quick {
            problems.push(format!("{key} = {value}"));
        }
    }
    if !release.contains_key("opt-level") {
        problems.push("no opt-level, which means 3".to_owned());
    }
    let packages = release.get("package").and_then(Item::as_table);
    let named = packages.map(keys).unwrap_or_default();
    problems.extend(
        named
            .iter()
            .filter(|name| !OPTIMISED.contains(name))
            .map(|name| format!("package.{name}")),
    );
    problems
}

#[test]
fn r_dist_01_the_release_profile_optimises_only_the_named_crates() {
    let workspace = workspace();
    let release = workspace["profile"]["release"].as_table().unwrap();
    assert_eq!(problems(release), Vec::<String>::new());
    assert_eq!(keys(release["package"].as_table().unwrap()), OPTIMISED);
    // The packaged program is the optimised one.
    let dist = workspace["profile"]["dist"].as_table().unwrap();
    assert_eq!(dist["lto"].as_str(), Some("fat"));
}

#[test]
fn r_dist_01_a_slow_release_profile_is_reported() {
    for profile in [
        "",
        "opt-level = 3",
        "opt-level = \"s\"",
        "opt-level = 1\nlto = true",
        "opt-level = 1\nlto = \"thin\"",
        "opt-level = 1\ncodegen-units = 1",
        "opt-level = 1\ndebug = true",
        "opt-level = 1\npackage.\"*\".opt-level = 3",
        "opt-level = 1\npackage.tokio.opt-level = 3",
    ] {
        let profile: DocumentMut = profile.parse().unwrap();
        assert!(!problems(profile.as_table()).is_empty(), "{profile}");
    }
    let quick: DocumentMut = "opt-level = 1\nstrip = true\nlto = false".parse().unwrap();
    assert_eq!(problems(quick.as_table()), Vec::<String>::new());
}
