//! Translates each client's notation of variables into Pegboard's.

use std::path::{Path, PathBuf};

use pegboard_model::{Limits, PROJECT_REFERENCE, Secret};

use super::table::{FileScope, VariableSyntax};
use super::value::{ImportValue, ValuePart, slug};
use crate::node::{Node, Value};
use crate::permission::is_owned_by_other;
use crate::regular_file::read_regular_file_if;

/// What the values of one file are translated with.
pub(super) struct Variables<'a> {
    pub(super) syntax: VariableSyntax,
    pub(super) scope: FileScope,
    pub(super) home: &'a Path,
    pub(super) project: &'a Path,
    /// VS Code's `inputs`.
    pub(super) inputs: Option<&'a Node>,
}

/// A translated value, with what was not carried over.
pub(super) struct Translated {
    pub(super) value: ImportValue,
    pub(super) notes: Vec<String>,
}

impl Variables<'_> {
    /// Translates the references in a value.
    pub(super) fn translate(&self, text: &str) -> Translated {
        let mut out = Translated {
            value: ImportValue::default(),
            notes: Vec::new(),
        };
        let mut rest = text;
        while !rest.is_empty() {
            let (before, found) = match self.next_reference(rest) {
                Some((at, inside, length)) => (at, Some((inside, length))),
                None => (rest.len(), None),
            };
            let (literal, from) = rest.split_at(before);
            out.literal(literal);
            let Some((reference, length)) = found else {
                break;
            };
            let written = from.get(..length).unwrap_or_default();
            self.push(reference, written, &mut out);
            rest = from.get(length..).unwrap_or_default();
        }
        out
    }

    /// Finds the next reference: its offset, its kind and its length.
    fn next_reference<'t>(&self, text: &'t str) -> Option<(usize, Found<'t>, usize)> {
        use VariableSyntax as Syntax;
        let starts = text.char_indices().filter(|(_, c)| matches!(c, '$' | '{'));
        for (at, _) in starts {
            let from = text.get(at..)?;
            let found = match self.syntax {
                Syntax::None => None,
                Syntax::Shell => shell(from),
                Syntax::ShellOrEnv => shell(from).or_else(|| bare(from, "$env:")),
                Syntax::BareShell => shell_name(from).or_else(|| bare(from, "$")),
                Syntax::Editor => {
                    enclosed(from, "${", "}").map(|(inside, n)| (Found::Editor(inside), n))
                }
                Syntax::Braces => braces(from),
                Syntax::Secrets => secrets(from),
            };
            if let Some((found, length)) = found {
                return Some((at, found, length));
            }
        }
        None
    }

    fn push(&self, found: Found<'_>, written: &str, out: &mut Translated) {
        match found {
            Found::Variable(name) => out.reference(format!("${{{name}}}")),
            Found::VariableOr(name, default) => out.reference(format!("${{{name}:-{default}}}")),
            Found::Secret(name) => out.prompt(self.prompt_name(name), "a secret of the client"),
            Found::File(path) => self.file(path, written, out),
            Found::Editor(inside) => self.editor(inside, written, out),
        }
    }

    fn editor(&self, inside: &str, written: &str, out: &mut Translated) {
        if let Some(name) = inside.strip_prefix("env:") {
            return match is_name(name) {
                true => out.reference(format!("${{{name}}}")),
                false => out.unknown(written),
            };
        }
        if let Some(id) = inside.strip_prefix("input:") {
            return self.input(id, out);
        }
        if let Some(path) = inside.strip_prefix("file:") {
            return self.file(path, written, out);
        }
        let folder = self.project.file_name().and_then(|name| name.to_str());
        match inside {
            "workspaceFolder" | "workspaceRoot" | "cwd" => {
                out.reference(PROJECT_REFERENCE.to_owned())
            }
            "userHome" => out.reference("${HOME}".to_owned()),
            "pathSeparator" | "/" => out.literal("/"),
            "workspaceFolderBasename" if self.scope == FileScope::Project => match folder {
                Some(name) => out.literal(name),
                None => out.unknown(written),
            },
            _ => out.unknown(written),
        }
    }

    /// `${input:ID}`: a default that is not a password is used, everything else becomes a secret.
    fn input(&self, id: &str, out: &mut Translated) {
        let items = match self.inputs.map(|node| &node.value) {
            Some(Value::List(items)) => items.as_slice(),
            _ => &[],
        };
        let field = |item: &Node, key: &str| Some(item.get(key)?.node.text()?.to_owned());
        let input = items
            .iter()
            .find(|item| field(item, "id").as_deref() == Some(id));
        let is_password = input
            .and_then(|item| item.get("password"))
            .is_some_and(|entry| entry.node.value == Value::Bool(true));
        let default = input.and_then(|item| field(item, "default"));
        if let Some(default) = default.filter(|_| !is_password) {
            out.notes.push(format!(
                "the client asks for `{}`; its default is used",
                shown(id)
            ));
            return out.literal(&default);
        }
        let description = input.and_then(|item| field(item, "description"));
        let from = description.unwrap_or_else(|| "a value that the client asks for".to_owned());
        match slug(id).is_empty() {
            true => out.unknown(&format!("${{input:{id}}}")),
            false => out.prompt(self.prompt_name(id), &from),
        }
    }

    /// The name of a secret that the user sets. That of a project contains the project's name, so that a project does
    /// not get a secret of the user by choosing its name.
    pub(super) fn prompt_name(&self, id: &str) -> String {
        let folder = self.project.file_name().unwrap_or_default();
        match self.scope {
            FileScope::User => slug(id),
            FileScope::Project => slug(&format!("{}_{id}", folder.to_string_lossy())),
        }
    }

    /// The content of a file. Files that a project names are not read, because the project could name any.
    fn file(&self, path: &str, written: &str, out: &mut Translated) {
        let is_readable = self.scope == FileScope::User;
        let content = is_readable.then(|| self.user_path(path)).flatten();
        let content = content.and_then(|path| read_small_text(&path));
        // The folder says what a file named `key` or `token` is for.
        let name = |path: Option<&Path>| {
            slug(
                path.map(Path::to_string_lossy)
                    .as_deref()
                    .unwrap_or_default(),
            )
        };
        let folder = name(
            Path::new(path)
                .parent()
                .and_then(|folder| folder.file_name())
                .map(Path::new),
        );
        let stem = name(Path::new(path).file_stem().map(Path::new));
        let name = match stem.is_empty() {
            true => String::new(),
            false => slug(&format!("{folder}_{stem}")),
        };
        match content {
            Some(content) => out.value.0.push(ValuePart::Secret {
                value: Secret::new(content.trim_end_matches(['\r', '\n'])),
                hint: if name.is_empty() {
                    "file".to_owned()
                } else {
                    name
                },
            }),
            None if name.is_empty() => out.unknown(written),
            None => {
                let reason = match is_readable {
                    true => "the file cannot be read",
                    false => "files that a project names are not read",
                };
                out.notes.push(format!("`{}`: {reason}", shown(written)));
                out.prompt(self.prompt_name(&name), "the content of a file");
            }
        }
    }

    /// Returns an absolute path of the user, without depending on the current folder.
    pub(super) fn user_path(&self, path: &str) -> Option<PathBuf> {
        let path = match path.strip_prefix("~/").or(path.strip_prefix("${HOME}/")) {
            Some(rest) => self.home.join(rest),
            None => PathBuf::from(path),
        };
        path.is_absolute().then_some(path)
    }
}

/// Reads a small text file of this user.
pub(super) fn read_small_text(path: &Path) -> Option<String> {
    let limit = Limits::default().value_bytes as u64;
    let check = |metadata: &std::fs::Metadata| match is_owned_by_other(metadata) {
        true => Err(()),
        false => Ok(()),
    };
    let bytes = read_regular_file_if(path, limit, check).ok()?.ok()?;
    String::from_utf8(bytes).ok()
}

/// A reference in a client's notation.
enum Found<'t> {
    Variable(&'t str),
    VariableOr(&'t str, &'t str),
    Secret(&'t str),
    File(&'t str),
    /// The inside of `${…}` in an editor's notation.
    Editor(&'t str),
}

type FoundReference<'t> = Option<(Found<'t>, usize)>;

/// Splits off text between two marks at the start, and returns it with the whole length.
fn enclosed<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, usize)> {
    let body = text.strip_prefix(open)?;
    let end = body.find(close)?;
    Some((body.get(..end)?, open.len() + end + close.len()))
}

/// `${VAR}` and `${VAR:-default}`.
fn shell(text: &str) -> FoundReference<'_> {
    let (inside, length) = enclosed(text, "${", "}")?;
    let found = match inside.split_once(":-") {
        Some((name, default)) if is_name(name) && !default.contains("${") => {
            Found::VariableOr(name, default)
        }
        None if is_name(inside) => Found::Variable(inside),
        _ => return None,
    };
    Some((found, length))
}

/// `${VAR}` only.
fn shell_name(text: &str) -> FoundReference<'_> {
    let (inside, length) = enclosed(text, "${", "}")?;
    is_name(inside).then_some((Found::Variable(inside), length))
}

/// A name directly after a mark.
fn bare<'t>(text: &'t str, mark: &str) -> FoundReference<'t> {
    let body = text.strip_prefix(mark)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = body.find(|c| !is_part(c)).unwrap_or(body.len());
    let name = body.get(..end)?;
    is_name(name).then_some((Found::Variable(name), mark.len() + end))
}

/// `{env:VAR}` and `{file:PATH}`.
fn braces(text: &str) -> FoundReference<'_> {
    if let Some((name, length)) = enclosed(text, "{env:", "}") {
        return is_name(name).then_some((Found::Variable(name), length));
    }
    let (path, length) = enclosed(text, "{file:", "}")?;
    Some((Found::File(path), length))
}

/// `${{ secrets.NAME }}`.
fn secrets(text: &str) -> FoundReference<'_> {
    let (inside, length) = enclosed(text, "${{", "}}")?;
    let name = inside.trim().strip_prefix("secrets.")?;
    is_name(name).then_some((Found::Secret(name), length))
}

/// Whether a text is a name of a variable in Pegboard's notation.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        // `${project}` is the project folder.
        && name != "project"
}

fn shown(text: &str) -> String {
    crate::problem::shown_text(text, SHOWN_REFERENCE).into_owned()
}

/// Maximum number of characters of a reference in a note.
const SHOWN_REFERENCE: usize = 60;

impl Translated {
    fn literal(&mut self, text: &str) {
        if !text.is_empty() {
            self.value.0.push(ValuePart::Literal(text.to_owned()));
        }
    }

    fn reference(&mut self, text: String) {
        self.value.0.push(ValuePart::Reference(text));
    }

    fn prompt(&mut self, name: String, from: &str) {
        let from = shown(from);
        self.value.0.push(ValuePart::Prompt { name, from });
    }

    /// Keeps a reference without an equivalent as text.
    fn unknown(&mut self, written: &str) {
        self.notes.push(format!(
            "`{}` has no equivalent; the server receives it as it is",
            shown(written)
        ));
        self.literal(written);
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::SecretForm;
    use super::*;

    #[track_caller]
    fn check(syntax: VariableSyntax, text: &str, expected: &str) {
        let variables = Variables {
            syntax,
            scope: FileScope::Project,
            home: Path::new("/home/ann"),
            project: Path::new("/code/app"),
            inputs: None,
        };
        let value = variables.translate(text).value;
        let written = value.written(&SecretForm::Literal);
        assert_eq!(written.as_deref(), Some(expected), "{syntax:?} {text}");
    }

    #[test]
    fn r_cfg_07_each_clients_variables_become_pegboards() {
        use VariableSyntax as Syntax;
        check(Syntax::None, "${A} $B {env:C}", "$${A} $B {env:C}");
        check(Syntax::Shell, "${A}-${B:-c d}", "${A}-${B:-c d}");
        check(Syntax::Shell, "$A ${a b} ${1}", "$A $${a b} $${1}");
        check(Syntax::Shell, "${A:-${B}}", "$${A:-${B}}");
        check(Syntax::ShellOrEnv, "$env:A/${B}", "${A}/${B}");
        check(Syntax::BareShell, "$A/${B} $5 $", "${A}/${B} $5 $");
        check(Syntax::Editor, "${env:A}/x", "${A}/x");
        check(Syntax::Editor, "${workspaceFolder}/x", "${project}/x");
        check(Syntax::Editor, "${userHome}${/}x", "${HOME}/x");
        check(Syntax::Editor, "${workspaceFolderBasename}", "app");
        check(Syntax::Editor, "${input:api-key}", "${secret:app_api_key}");
        check(Syntax::Editor, "${config:x}", "$${config:x}");
        check(Syntax::Editor, "${file:/etc/key}", "${secret:app_etc_key}");
        check(Syntax::Braces, "{env:A} ${HOME}", "${A} $${HOME}");
        check(Syntax::Braces, "{file:~/.token}", "${secret:app_token}");
        check(Syntax::Secrets, "${{ secrets.A_B }}", "${secret:app_a_b}");
        check(Syntax::Secrets, "${{ inputs.X }}", "$${{ inputs.X }}");
        for syntax in [Syntax::Shell, Syntax::Editor, Syntax::BareShell] {
            check(syntax, "", "");
            check(syntax, "${", "$${");
            check(syntax, "é${", "é$${");
        }
    }
}
