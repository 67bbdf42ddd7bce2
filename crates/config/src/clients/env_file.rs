//! Reads the variables of an `envFile`.

use std::path::{Path, PathBuf};

use pegboard_model::PROJECT_REFERENCE;

use super::table::FileScope;
use super::value::{ImportValue, ValuePart};
use super::variables::{Variables, is_name, read_small_text};

/// Maximum number of variables in a file.
const MAX_VARIABLES: usize = 500;

/// Reads the variables of a file that an entry names.
///
/// A project's entry may name only files in the project, also through links. A user's entry may name only files whose
/// place does not depend on the current folder, because its variables would be those of one project.
///
/// # Errors
/// Returns why the file is not read.
pub(super) fn read_env_file(
    value: &ImportValue,
    variables: &Variables<'_>,
) -> Result<Vec<(String, ImportValue)>, &'static str> {
    let path = path(value, variables)?;
    let text = read_small_text(&path).ok_or("the file cannot be read")?;
    parse(&text).ok_or("the file is not a list of `NAME=value`")
}

fn path(value: &ImportValue, variables: &Variables<'_>) -> Result<PathBuf, &'static str> {
    let (in_project, rest) = match value.0.split_first() {
        Some((ValuePart::Reference(reference), rest)) if reference == PROJECT_REFERENCE => {
            (true, rest)
        }
        Some((ValuePart::Reference(reference), rest)) if reference == "${HOME}" => {
            let rest = ImportValue(rest.to_vec())
                .plain()
                .ok_or("its path contains a variable")?;
            let path = variables.home.join(rest.trim_start_matches('/'));
            return allowed(path, variables);
        }
        _ => (false, value.0.as_slice()),
    };
    let rest = ImportValue(rest.to_vec())
        .plain()
        .ok_or("its path contains a variable")?;
    let is_relative = in_project || !rest.starts_with(['/', '~']);
    match is_relative {
        true if variables.scope == FileScope::User => {
            Err("its place depends on the current folder")
        }
        true => allowed(
            variables.project.join(rest.trim_start_matches('/')),
            variables,
        ),
        false => {
            let path = variables
                .user_path(&rest)
                .ok_or("the file cannot be read")?;
            allowed(path, variables)
        }
    }
}

fn allowed(path: PathBuf, variables: &Variables<'_>) -> Result<PathBuf, &'static str> {
    if variables.scope == FileScope::User {
        return Ok(path);
    }
    // Links are resolved, so that a link in the project cannot lead out of it.
    let resolved = |path: &Path| path.canonicalize().map_err(|_| "the file cannot be read");
    let (path, project) = (resolved(&path)?, resolved(variables.project)?);
    match path.starts_with(&project) {
        true => Ok(path),
        false => Err("a project's entry may name only files in the project"),
    }
}

/// Reads lines of `NAME=value`, with comments, `export` and quotes.
fn parse(text: &str) -> Option<Vec<(String, ImportValue)>> {
    let mut variables = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        if !is_name(name) || variables.len() >= MAX_VARIABLES {
            return None;
        }
        variables.push((
            name.to_owned(),
            ImportValue::literal(unquoted(value.trim())),
        ));
    }
    Some(variables)
}

/// Removes quotes, or the comment after a value without quotes.
fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        let inner = value
            .strip_prefix(quote)
            .and_then(|rest| rest.split_once(quote));
        if let Some((inner, _)) = inner {
            return match quote {
                '"' => inner.replace("\\n", "\n"),
                _ => inner.to_owned(),
            };
        }
    }
    let end = value.find(" #").unwrap_or(value.len());
    value.get(..end).unwrap_or(value).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_an_env_file_are_read() {
        let text = "# comment\nA=1\nexport B=\"two words\"\r\nC='x # y'\nD=z # note\nE=\n";
        let pairs = parse(text).unwrap();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.plain().unwrap()))
            .collect();
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "x # y"),
            ("D", "z"),
            ("E", ""),
        ];
        assert_eq!(
            pairs,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
        assert!(parse("not a line").is_none());
    }
}
