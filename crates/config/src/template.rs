//! `${VAR}`, `${VAR:-default}`, `${secret:NAME}`, `${project}` and `$${` in values.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{Limits, PROJECT_REFERENCE, Secret, Template, TemplatePart};

use crate::environment::Environment;
use crate::secrets::SecretKeeper;

/// Where the values of references come from, and how large they may get.
pub(crate) struct Values<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) limits: &'a Limits,
    /// What `${project}` stands for.
    project: &'a Path,
    /// Where kept secrets are; without it none is known.
    state_dir: Option<&'a Path>,
    /// Kept secrets by name with the version of their value; read when the first one is named.
    kept: OnceCell<BTreeMap<String, String>>,
}

impl<'a> Values<'a> {
    pub(crate) fn new(env: &'a Environment, limits: &'a Limits, state_dir: &'a Path) -> Self {
        Self {
            env,
            limits,
            project: &env.working_dir,
            state_dir: Some(state_dir),
            kept: OnceCell::new(),
        }
    }

    /// The same for a project; without one, `${project}` is the current folder.
    pub(crate) fn in_project(mut self, project: Option<&'a Path>) -> Self {
        self.project = project.unwrap_or(&self.env.working_dir);
        self
    }

    /// Values for looking at a definition without any secret.
    pub(crate) fn without_secrets(env: &'a Environment, limits: &'a Limits) -> Self {
        Self {
            env,
            limits,
            project: &env.working_dir,
            state_dir: None,
            kept: OnceCell::new(),
        }
    }

    fn secret_version(&self, name: &str) -> Option<&String> {
        let read = || {
            let names = self
                .state_dir
                .map(|folder| SecretKeeper::open(folder).names());
            names
                .unwrap_or_default()
                .into_iter()
                .map(|secret| (secret.name, secret.version))
                .collect()
        };
        self.kept.get_or_init(read).get(name)
    }
}

/// Why a value cannot be resolved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplateFlaw {
    VariableMissing(String),
    SecretMissing(String),
    Malformed(&'static str),
    TooLarge,
}

/// A piece of a value as it was written.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Literal(&'a str),
    Variable {
        name: &'a str,
        default: Option<&'a str>,
    },
    Secret(&'a str),
    Project,
}

/// Resolves the variables of a value. What a variable holds is taken as it is, never expanded again.
pub(crate) fn resolve(text: &str, values: &Values<'_>) -> Result<Template, TemplateFlaw> {
    if !text.contains("${") && text.len() <= values.limits.value_bytes {
        return Ok(Template::literal(text));
    }
    let mut parts = Vec::new();
    let mut known = String::new();
    let mut size = 0;
    let project = values.project.to_string_lossy();
    for piece in pieces(text)? {
        let value = match piece {
            Piece::Literal(literal) => literal,
            Piece::Project => project.as_ref(),
            Piece::Variable { name, default } => values
                .env
                .var(name)
                .or(default)
                // A variable that is set but empty is a value of its own when there is no default.
                .or_else(|| values.env.vars.get(name).map(String::as_str))
                .ok_or_else(|| TemplateFlaw::VariableMissing(name.to_owned()))?,
            Piece::Secret(name) => {
                let version = values.secret_version(name);
                let version =
                    version.ok_or_else(|| TemplateFlaw::SecretMissing(name.to_owned()))?;
                if !known.is_empty() {
                    parts.push(TemplatePart::Known(Secret::new(std::mem::take(&mut known))));
                }
                parts.push(TemplatePart::Kept {
                    name: name.to_owned(),
                    version: version.clone(),
                });
                continue;
            }
        };
        size += value.len();
        if size > values.limits.value_bytes {
            return Err(TemplateFlaw::TooLarge);
        }
        known.push_str(value);
    }
    if !known.is_empty() || parts.is_empty() {
        parts.push(TemplatePart::Known(Secret::new(known)));
    }
    Ok(Template::new(text, parts))
}

/// What a value refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'a> {
    Variable(&'a str),
    Secret(&'a str),
}

/// The references in a value, in the order they were written.
pub(crate) fn references(text: &str) -> Vec<Reference<'_>> {
    if !text.contains("${") {
        return Vec::new();
    }
    let pieces = pieces(text).unwrap_or_default().into_iter();
    let references = pieces.filter_map(|piece| match piece {
        Piece::Literal(_) | Piece::Project => None,
        Piece::Variable { name, .. } => Some(Reference::Variable(name)),
        Piece::Secret(name) => Some(Reference::Secret(name)),
    });
    references.collect()
}

/// The value with everything but the names of its references hidden.
pub(crate) fn hidden(text: &str) -> String {
    let Ok(pieces) = pieces(text) else {
        return "***".to_owned();
    };
    let show = |piece| match piece {
        Piece::Literal(_) => "***".to_owned(),
        Piece::Variable {
            name,
            default: None,
        } => format!("${{{name}}}"),
        Piece::Variable {
            name,
            default: Some(_),
        } => format!("${{{name}:-***}}"),
        Piece::Secret(name) => format!("${{secret:{name}}}"),
        Piece::Project => PROJECT_REFERENCE.to_owned(),
    };
    let mut shown: Vec<String> = pieces.into_iter().map(show).collect();
    shown.dedup_by(|a, b| a == "***" && b == "***");
    if shown.is_empty() {
        "***".to_owned()
    } else {
        shown.concat()
    }
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, TemplateFlaw> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if before.ends_with('$') {
            pieces.push(Piece::Literal(before.strip_suffix('$').unwrap_or_default()));
            pieces.push(Piece::Literal("${"));
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        pieces.push(Piece::Literal(before));
        let body = from.get(2..).unwrap_or_default();
        let Some(end) = body.find('}') else {
            return Err(TemplateFlaw::Malformed("a `${` has no closing `}`"));
        };
        let (inside, after) = body.split_at(end);
        pieces.push(reference(inside)?);
        rest = after.get(1..).unwrap_or_default();
    }
    pieces.push(Piece::Literal(rest));
    pieces.retain(|piece| *piece != Piece::Literal(""));
    Ok(pieces)
}

fn reference(inside: &str) -> Result<Piece<'_>, TemplateFlaw> {
    if inside == "project" {
        return Ok(Piece::Project);
    }
    if let Some(name) = inside.strip_prefix("secret:") {
        if !is_secret_reference(name) {
            return Err(TemplateFlaw::Malformed(
                "the name in `${secret:…}` is not a secret's name",
            ));
        }
        return Ok(Piece::Secret(name));
    }
    // Other clients write `${env:NAME}` for the same thing.
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let legal = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !legal {
        return Err(TemplateFlaw::Malformed(
            "what stands in `${…}` is not a variable's name",
        ));
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err(TemplateFlaw::Malformed(
            "a default cannot hold another `${…}`",
        ));
    }
    Ok(Piece::Variable { name, default })
}

/// Whether a text can be the name of a kept secret.
pub(crate) fn is_secret_reference(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::NoSecrets;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, TemplateFlaw>) {
        let vars = [
            ("NAME", "value"),
            ("EMPTY", ""),
            ("NESTED", "${NAME}"),
            ("BIG", &"x".repeat(2000)),
            ("project", "a variable"),
        ];
        let vars = vars
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let env = Environment {
            vars,
            working_dir: "/work/here".into(),
            ..Environment::default()
        };
        let limits = Limits {
            value_bytes: 1000,
            ..Limits::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let values = Values::new(&env, &limits, folder.path());
        let got =
            resolve(text, &values).map(|t| t.resolve(&NoSecrets).unwrap().reveal().to_owned());
        assert_eq!(got, expected.map(str::to_owned), "{text:?}");
    }

    #[test]
    fn r_cfg_08_references_are_resolved_once() {
        check("plain", Ok("plain"));
        check("", Ok(""));
        check("a ${NAME} b", Ok("a value b"));
        check("${env:NAME}", Ok("value"));
        check("${NAME:-other}", Ok("value"));
        check("${NONE:-other}", Ok("other"));
        check("${NONE:-}", Ok(""));
        check("${EMPTY:-other}", Ok("other"));
        check("${EMPTY}", Ok(""));
        check("${NESTED}", Ok("${NAME}"));
        check("$${NAME}", Ok("${NAME}"));
        check("$NAME $ {NAME}", Ok("$NAME $ {NAME}"));
        check("${project}/x", Ok("/work/here/x"));
        check("${env:project}", Ok("a variable"));
        check("${NONE}", Err(TemplateFlaw::VariableMissing("NONE".into())));
        check(
            "${secret:none}",
            Err(TemplateFlaw::SecretMissing("none".into())),
        );
        check("${BIG}", Err(TemplateFlaw::TooLarge));
        for malformed in [
            "${",
            "${NAME",
            "${}",
            "${a b}",
            "${NONE:-${NAME}}",
            "${secret:}",
            "${1A}",
        ] {
            assert!(
                matches!(pieces(malformed), Err(TemplateFlaw::Malformed(_))),
                "{malformed}"
            );
        }
    }

    #[test]
    fn r_cfg_08_only_names_of_references_are_shown() {
        for (text, shown) in [
            ("canary", "***"),
            ("", "***"),
            ("${NAME}", "${NAME}"),
            ("Bearer ${NAME}", "***${NAME}"),
            ("${NAME:-canary}", "${NAME:-***}"),
            ("${secret:github}", "${secret:github}"),
            ("$${canary}", "***"),
            ("${canary", "***"),
        ] {
            assert_eq!(hidden(text), shown);
        }
    }
}
