//! Resolves `${VAR}`, `${VAR:-default}`, `${secret:NAME}`, `${project}` and `$${` in values.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{Limits, PROJECT_REFERENCE, Secret, Template, TemplatePart};

use crate::content_hashes::ContentHashes;
use crate::environment::Environment;
use crate::load::LoadedConfig;
use crate::problem::Problem;
use crate::regular_file::special_file_problem;
use crate::secrets::SecretStore;

/// The sources that references are resolved from, and the size limit of values.
pub(crate) struct ReferenceSource<'a> {
    pub(crate) env: &'a Environment,
    pub(crate) limits: &'a Limits,
    /// The value of `${project}`.
    project: &'a Path,
    /// The folder of the stored secrets. Without it no secret exists.
    state_dir: Option<&'a Path>,
    /// The stored secrets; read when the first one is referenced.
    secrets: OnceCell<SecretVersions>,
}

/// The stored secrets without their values.
#[derive(Default)]
struct SecretVersions {
    /// Versions by name.
    versions: BTreeMap<String, String>,
    /// The hash of the file.
    contents: ContentHashes,
    problem: Option<Problem>,
}

impl<'a> ReferenceSource<'a> {
    pub(crate) fn new(env: &'a Environment, limits: &'a Limits, state_dir: &'a Path) -> Self {
        Self {
            env,
            limits,
            project: &env.working_dir,
            state_dir: Some(state_dir),
            secrets: OnceCell::new(),
        }
    }

    /// Sets the project folder. Without a project, `${project}` is the current folder.
    pub(crate) fn in_project(mut self, project: Option<&'a Path>) -> Self {
        self.project = project.unwrap_or(&self.env.working_dir);
        self
    }

    /// For checking a definition without any secrets.
    pub(crate) fn without_secrets(env: &'a Environment, limits: &'a Limits) -> Self {
        Self {
            env,
            limits,
            project: &env.working_dir,
            state_dir: None,
            secrets: OnceCell::new(),
        }
    }

    fn secret_version(&self, name: &str) -> Option<&String> {
        let read = || self.state_dir.map(SecretVersions::read).unwrap_or_default();
        self.secrets.get_or_init(read).versions.get(name)
    }

    /// Adds the hash of the secrets file, if it was read, and its problem.
    pub(crate) fn report(&self, loaded: &mut LoadedConfig) {
        if let Some(secrets) = self.secrets.get() {
            loaded.contents.extend(secrets.contents.clone());
            loaded.problems.extend(secrets.problem.clone());
        }
    }
}

impl SecretVersions {
    fn read(state_dir: &Path) -> Self {
        let file = SecretStore::file(state_dir);
        let problem = special_file_problem(&file);
        let mut contents = ContentHashes::default();
        contents.record(&file);
        let names = SecretStore::open(state_dir).names().into_iter();
        Self {
            versions: names.map(|secret| (secret.name, secret.version)).collect(),
            contents,
            problem,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplateError {
    VariableMissing(String),
    SecretMissing(String),
    /// `${input:NAME}`: a value that VS Code prompts for.
    Prompt(String),
    Malformed(&'static str),
    TooLarge,
}

/// A part of a value as written.
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

/// Resolves the references in a value. Resolved values are never expanded again.
///
/// `own` are the variables in the server's `env`, which take precedence: `${AUTH}` in an argument is the `AUTH` that
/// the server receives.
pub(crate) fn resolve(
    text: &str,
    values: &ReferenceSource<'_>,
    own: &BTreeMap<String, Template>,
) -> Result<Template, TemplateError> {
    if !text.contains("${") && text.len() <= values.limits.value_bytes {
        return Ok(Template::literal(text));
    }
    let mut parts = PartsBuilder::new(values.limits.value_bytes);
    let project = values.project.to_string_lossy();
    for piece in pieces(text)? {
        match piece {
            Piece::Literal(literal) => parts.text(literal)?,
            Piece::Project => parts.text(&project)?,
            Piece::Variable { name, default } => match (own.get(name), default) {
                (Some(value), Some(default)) if is_empty(value) => parts.text(default)?,
                (Some(value), _) => parts.template(value)?,
                (None, default) => parts.text(variable(values, name, default)?)?,
            },
            Piece::Secret(name) => {
                let version = values.secret_version(name);
                let version =
                    version.ok_or_else(|| TemplateError::SecretMissing(name.to_owned()))?;
                parts.secret(name, version);
            }
        }
    }
    Ok(Template::new(text, parts.finish()))
}

/// Returns the value of an environment variable, or the default.
fn variable<'v>(
    values: &'v ReferenceSource<'_>,
    name: &str,
    default: Option<&'v str>,
) -> Result<&'v str, TemplateError> {
    let env = values.env;
    env.var(name)
        .or(default)
        // A variable that is set to an empty value is used if there is no default.
        .or_else(|| env.vars.get(name).map(String::as_str))
        .ok_or_else(|| TemplateError::VariableMissing(name.to_owned()))
}

fn is_empty(template: &Template) -> bool {
    let is_empty = |part: &TemplatePart| matches!(part, TemplatePart::Resolved(text) if text.reveal().is_empty());
    template.parts().iter().all(is_empty)
}

/// Collects the parts of a value while it is resolved.
struct PartsBuilder {
    parts: Vec<TemplatePart>,
    /// Text since the last stored secret.
    known: String,
    size: usize,
    limit: usize,
}

impl PartsBuilder {
    fn new(limit: usize) -> Self {
        Self {
            parts: Vec::new(),
            known: String::new(),
            size: 0,
            limit,
        }
    }

    fn text(&mut self, text: &str) -> Result<(), TemplateError> {
        self.size += text.len();
        if self.size > self.limit {
            return Err(TemplateError::TooLarge);
        }
        self.known.push_str(text);
        Ok(())
    }

    fn secret(&mut self, name: &str, version: &str) {
        if !self.known.is_empty() {
            let known = std::mem::take(&mut self.known);
            self.parts.push(TemplatePart::Resolved(Secret::new(known)));
        }
        self.parts.push(TemplatePart::StoredSecret {
            name: name.to_owned(),
            version: version.to_owned(),
        });
    }

    fn template(&mut self, template: &Template) -> Result<(), TemplateError> {
        for part in template.parts() {
            match part {
                TemplatePart::Resolved(text) => self.text(text.reveal())?,
                TemplatePart::StoredSecret { name, version } => self.secret(name, version),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<TemplatePart> {
        if !self.known.is_empty() || self.parts.is_empty() {
            self.parts
                .push(TemplatePart::Resolved(Secret::new(self.known)));
        }
        self.parts
    }
}

/// A reference in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference<'a> {
    Variable(&'a str),
    Secret(&'a str),
}

/// Returns the references in a value, in order.
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

/// Masks everything in a value except the names of references.
pub(crate) fn masked(text: &str) -> String {
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

/// Returns the spans of reference names, from `${` to the end of the name. Defaults, and text that is not a
/// reference, are never part of a span.
pub(crate) fn reference_spans(text: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("${")) {
        let start = from + at;
        let Some(length) = text.get(start + 2..).and_then(|body| body.find('}')) else {
            break;
        };
        let inside = text.get(start + 2..start + 2 + length).unwrap_or_default();
        let name = inside.split(":-").next().unwrap_or_default();
        let is_named = match reference(name) {
            Ok(_) => true,
            Err(TemplateError::Prompt(prompt)) => is_secret_reference(&prompt),
            Err(_) => false,
        };
        if is_named {
            spans.push((start, start + 2 + name.len()));
        }
        from = start + 2 + length + 1;
    }
    spans
}

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
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
            return Err(TemplateError::Malformed("a `${` has no closing `}`"));
        };
        let (inside, after) = body.split_at(end);
        pieces.push(reference(inside)?);
        rest = after.get(1..).unwrap_or_default();
    }
    pieces.push(Piece::Literal(rest));
    pieces.retain(|piece| *piece != Piece::Literal(""));
    Ok(pieces)
}

fn reference(inside: &str) -> Result<Piece<'_>, TemplateError> {
    if inside == "project" {
        return Ok(Piece::Project);
    }
    if let Some(name) = inside.strip_prefix("secret:") {
        if !is_secret_reference(name) {
            return Err(TemplateError::Malformed(
                "`${secret:…}` does not contain a valid secret name",
            ));
        }
        return Ok(Piece::Secret(name));
    }
    if let Some(name) = inside.strip_prefix("input:") {
        return Err(TemplateError::Prompt(name.to_owned()));
    }
    // Other clients write `${env:NAME}`.
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let legal = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !legal {
        return Err(TemplateError::Malformed(
            "`${…}` does not contain a valid variable name",
        ));
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err(TemplateError::Malformed(
            "a default cannot contain another `${…}`",
        ));
    }
    Ok(Piece::Variable { name, default })
}

/// Whether a text is a valid name of a stored secret.
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
    fn check(text: &str, expected: Result<&str, TemplateError>) {
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
        let values = ReferenceSource::new(&env, &limits, folder.path());
        let got = resolve(text, &values, &BTreeMap::new())
            .map(|t| t.resolve(&NoSecrets).unwrap().reveal().to_owned());
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
        check(
            "${NONE}",
            Err(TemplateError::VariableMissing("NONE".into())),
        );
        check(
            "${secret:none}",
            Err(TemplateError::SecretMissing("none".into())),
        );
        check("${BIG}", Err(TemplateError::TooLarge));
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
                matches!(pieces(malformed), Err(TemplateError::Malformed(_))),
                "{malformed}"
            );
        }
    }

    #[test]
    fn r_cfg_08_the_variables_of_the_server_come_first_and_are_not_expanded_again() {
        let vars = [("AUTH", "from the environment"), ("OTHER", "other")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let env = Environment {
            vars: vars.into_iter().collect(),
            ..Environment::default()
        };
        let limits = Limits::default();
        let values = ReferenceSource::without_secrets(&env, &limits);
        let kept = TemplatePart::StoredSecret {
            name: "key".to_owned(),
            version: "1".to_owned(),
        };
        let own = [
            ("AUTH", Template::literal("Bearer ${OTHER}")),
            ("EMPTY", Template::literal("")),
            ("KEPT", Template::new("${secret:key}", vec![kept.clone()])),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let own: BTreeMap<_, _> = own.into_iter().collect();
        for (text, expected) in [
            ("Authorization: ${AUTH}", "Authorization: Bearer ${OTHER}"),
            ("${OTHER}", "other"),
            ("${EMPTY:-default}", "default"),
            ("<${EMPTY}>", "<>"),
        ] {
            let resolved = resolve(text, &values, &own).unwrap();
            assert_eq!(resolved.resolve(&NoSecrets).unwrap().reveal(), expected);
            assert_eq!(resolved.written(), text);
        }
        let resolved = resolve("x ${KEPT}", &values, &own).unwrap();
        assert_eq!(resolved.parts().get(1), Some(&kept));
    }

    #[test]
    fn r_cfg_08_the_spans_of_references_hold_names_only() {
        for (text, shown) in [
            ("x ${NAME} y", "${NAME"),
            ("${input:api-key}", "${input:api-key"),
            ("${secret:a}${env:B}", "${secret:a${env:B"),
            ("${NAME:-canary}", "${NAME"),
            ("${x:-${canary}}", "${x"),
            ("${canary", ""),
            ("${can ary}", ""),
            ("${input:can ary}", ""),
        ] {
            let spans = reference_spans(text).into_iter();
            let found: Vec<&str> = spans.map(|(start, end)| &text[start..end]).collect();
            assert_eq!(found.concat(), shown, "{text}");
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
            assert_eq!(masked(text), shown);
        }
    }
}
