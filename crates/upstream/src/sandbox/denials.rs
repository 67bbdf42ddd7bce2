//! Finds the paths that a confined server was refused in what it wrote to standard error.

/// Texts with which programs report that the kernel refused an access.
const REFUSALS: &[&str] = &[
    "EACCES",
    "EPERM",
    "Permission denied",
    "permission denied",
    "Operation not permitted",
    "operation not permitted",
    "Read-only file system",
];
/// Maximum number of paths.
const PATHS: usize = 64;

/// Words that say that something should have been changed.
const CHANGES: &[&str] = &[
    "mkdir",
    "create",
    "write",
    "unlink",
    "remove",
    "rename",
    "copyfile",
    "symlink",
    "chmod",
    "utime",
    "Read-only",
];

/// A path that a server was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedPath {
    /// The path as the server wrote it.
    pub path: String,
    /// Whether the line says that it should have been changed.
    pub is_change: bool,
}

/// Returns the absolute paths in lines that report a refused access, each once.
pub fn denied_paths(stderr: &str) -> Vec<DeniedPath> {
    let mut found: Vec<DeniedPath> = Vec::new();
    let refused = |line: &&str| REFUSALS.iter().any(|text| line.contains(text));
    for line in stderr.lines().filter(refused) {
        for path in paths_in(line) {
            let is_change = CHANGES.iter().any(|word| line.contains(word));
            let has_room = found.len() < PATHS;
            match found.iter_mut().find(|known| known.path == path) {
                Some(known) => known.is_change |= is_change,
                None if has_room => found.push(DeniedPath {
                    path: path.to_owned(),
                    is_change,
                }),
                None => {}
            }
        }
    }
    found
}

/// Returns the absolute paths in a line: up to the closing quote if quoted, else up to a space, colon or comma.
fn paths_in(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find('/') {
        let (before, from) = rest.split_at(at);
        let quote = before.chars().next_back();
        let end = match quote {
            Some(quote @ ('\'' | '"' | '`')) => from.find(quote),
            _ => from.find(|c: char| c.is_whitespace() || ":,;)'\"`".contains(c)),
        };
        let (path, after) = from.split_at(end.unwrap_or(from.len()));
        let starts = quote.is_none_or(|c| !c.is_alphanumeric() && !"./:".contains(c));
        // `/` alone separates words.
        if starts && path.len() > 1 && !path.starts_with("//") {
            found.push(path);
        }
        rest = match after.len() < rest.len() {
            true => after,
            false => "",
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_lines_that_report_a_refusal() {
        for (line, expected) in [
            (
                "Error: EACCES: permission denied, open '/home/me/my file'",
                vec!["/home/me/my file"],
            ),
            (
                "PermissionError: [Errno 13] Permission denied: '/root/.config/x'",
                vec!["/root/.config/x"],
            ),
            (
                "sh: 1: cannot create /etc/x: Permission denied",
                vec!["/etc/x"],
            ),
            ("open '/fine' worked", vec![]),
            ("EPERM https://example.com/path and/or", vec![]),
            ("EACCES / ", vec![]),
        ] {
            let found = denied_paths(line).into_iter().map(|denied| denied.path);
            assert_eq!(found.collect::<Vec<_>>(), expected, "{line}");
        }
        let many: String = (0..200)
            .map(|n| format!("EACCES /x{n}\nEACCES /x{n}\n"))
            .collect();
        assert_eq!(denied_paths(&many).len(), PATHS);
        assert!(denied_paths("cannot create /x: Permission denied")[0].is_change);
        assert!(!denied_paths("EACCES: open '/x'")[0].is_change);
    }
}
