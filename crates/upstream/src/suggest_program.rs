//! Suggests a program for a command that was not found.

use std::collections::BTreeSet;
use std::path::Path;

/// How many files in the folders of `PATH` are compared.
const COMPARED_FILES: usize = 20_000;
/// The shortest name that is compared. Shorter names are similar to most others.
const SHORTEST_NAME: usize = 3;

/// Returns the most similar program name in the folders of `PATH`, if any is similar enough.
pub(crate) fn suggest_program(wanted: &str, path: &str) -> Option<String> {
    if wanted.len() < SHORTEST_NAME || wanted.contains('/') {
        return None;
    }
    // One typo in a short name, two in a long one.
    let most = if wanted.chars().count() <= 5 { 1 } else { 2 };
    let names: BTreeSet<String> = std::env::split_paths(path)
        .flat_map(|folder| names_in(&folder))
        .take(COMPARED_FILES)
        .collect();
    let near = names.into_iter().filter_map(|name| {
        let distance = strsim::damerau_levenshtein(wanted, &name);
        (distance <= most).then_some((distance, name))
    });
    near.min().map(|(_, name)| name)
}

fn names_in(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.file_name().into_string().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_disc_04_the_program_that_was_meant_is_found_in_path() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["uvx", "npx", "python3", "docker"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let path = folder.path().display().to_string();
        for (wanted, near) in [
            ("uvxx", Some("uvx")),
            ("nxp", Some("npx")),
            ("pyhton3", Some("python3")),
            ("dokcer", Some("docker")),
            ("cargo", None),
            ("uv", None),
            ("/bin/uvxx", None),
        ] {
            assert_eq!(suggest_program(wanted, &path).as_deref(), near, "{wanted}");
        }
        assert_eq!(suggest_program("uvxx", "/nowhere"), None);
    }
}
