//! Resolves a configured server into what is run or sent, and registers its secrets with the redactor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::{
    Layer, Reason, SecretLookup, ServerSpec, Template, TemplatePart, ToolError, ToolResult,
    UntrustedText, find_secrets, secret_arguments, secret_parts,
};

use crate::connector::ConnectorConfig;
use crate::redact::Redactor;
use crate::spawn::Launch;
use crate::{environment, safe_path, work_dir};

/// Resolves the values of one server.
pub(crate) struct Resolver<'a> {
    pub(crate) spec: &'a ServerSpec,
    pub(crate) secrets: &'a dyn SecretLookup,
    pub(crate) redactor: Redactor,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(spec: &'a ServerSpec, secrets: &'a dyn SecretLookup) -> Self {
        Self {
            spec,
            secrets,
            redactor: Redactor::default(),
        }
    }

    /// Resolves a value that is secret as a whole, however it was written.
    pub(crate) fn secret(&mut self, template: &Template, field: &str) -> ToolResult<String> {
        let value = self.plain(template, field)?;
        self.hide(template, &value);
        Ok(value)
    }

    /// Resolves a value that is secret only if it came from a variable or a stored secret.
    pub(crate) fn value(&mut self, template: &Template, field: &str) -> ToolResult<String> {
        let value = self.plain(template, field)?;
        if template.has_references() {
            self.hide(template, &value);
        }
        Ok(value)
    }

    /// Resolves an argument. In one that may contain a plaintext secret, each part that may be secret is masked as
    /// well.
    fn argument(&mut self, template: &Template, may_be_secret: bool) -> ToolResult<String> {
        let value = match may_be_secret {
            true => self.secret(template, "args")?,
            false => self.value(template, "args")?,
        };
        if may_be_secret {
            for part in secret_parts(&value) {
                self.redactor.add(part);
            }
            for part in referenced(template.written(), &value) {
                self.redactor.add_certain(part);
            }
        }
        self.hide_references_in_lists(template, &value);
        Ok(value)
    }

    /// Masks in the server's lists those parts of a value without a name of its own (an argument, a URL) that came from
    /// a stored secret or from a variable with a secret's name, and parts that look like a key.
    pub(crate) fn hide_references_in_lists(&mut self, template: &Template, value: &str) {
        let written = template.written();
        let names = written.split("${").skip(1);
        for (name, part) in names.zip(referenced(written, value)) {
            let name = name.split('}').next().unwrap_or_default();
            if name.starts_with("secret:") || names_secret(name) {
                self.redactor.add_certain(part);
            }
        }
        for range in find_secrets(value) {
            self.redactor
                .add_certain(value.get(range).unwrap_or_default());
        }
    }

    /// Masks a value, and separately each part that came from a variable or a stored secret: of `--token=${TOKEN}` a
    /// server may repeat the token alone.
    fn hide(&mut self, template: &Template, value: &str) {
        self.redactor.add(value);
        for part in referenced(template.written(), value) {
            self.redactor.add(part);
        }
    }

    /// Masks a value in the server's lists as well if it is certainly a secret: it is a stored secret, has a secret's
    /// name, or comes from a variable and is neither a path nor a plain word.
    pub(crate) fn hide_in_lists(&mut self, template: &Template, name: &str, value: &str) {
        let is_kept = |part: &TemplatePart| matches!(part, TemplatePart::StoredSecret { .. });
        let is_ordinary = value.starts_with(['/', '~', '.'])
            || value
                .chars()
                .all(|c| c.is_ascii_lowercase() || c == '-' || c == '_');
        if template.parts().iter().any(is_kept)
            || names_secret(name)
            || (template.has_references() && !is_ordinary)
        {
            self.redactor.add_certain(value);
            for part in referenced(template.written(), value) {
                self.redactor.add_certain(part);
            }
        }
    }

    fn plain(&self, template: &Template, field: &str) -> ToolResult<String> {
        let resolved = template.resolve(self.secrets).map_err(|name| {
            let what = format!(
                "server `{}` needs the secret `{name}` for `{field}`, which is not stored",
                self.spec.name
            );
            ToolError::new(Reason::ConfigSecretMissing, what)
                .at_server(&self.spec.name)
                .at_field(field)
                .with_remedy(format!("Store it with `pegboard secret set {name}`."))
        })?;
        Ok(resolved.reveal().to_owned())
    }

    /// Creates an error about a configured value. It names the key and never the value.
    pub(crate) fn invalid(&self, field: &str, why: &str) -> ToolError {
        ToolError::new(
            Reason::ConfigInvalid,
            format!("`{field}` of server `{}` {why}", self.spec.name),
        )
        .at_server(&self.spec.name)
        .at_field(field)
    }

    /// Resolves what is run for a stdio server.
    pub(crate) fn launch(
        &mut self,
        (command, args, env, cwd): (
            &Template,
            &[Template],
            &BTreeMap<String, Template>,
            Option<&Template>,
        ),
        setup: &ConnectorConfig,
    ) -> ToolResult<Launch> {
        let (ours, also_allowed) = (&setup.environment, &setup.env_allow);
        let program = self.value(command, "command")?;
        for range in find_secrets(&program) {
            self.redactor.add(program.get(range).unwrap_or_default());
        }
        self.hide_references_in_lists(command, &program);
        if program.is_empty() {
            return Err(self.invalid("command", "is empty"));
        }
        let secret_flags = secret_arguments(args.iter().map(Template::written));
        let args = args
            .iter()
            .zip(secret_flags)
            .map(|(arg, may_be_secret)| self.argument(arg, may_be_secret))
            .collect::<ToolResult<Vec<_>>>()?;
        let is_own = self.spec.origin.layer != Layer::Project;
        let is_private = cwd.is_none() && setup.work_dirs.is_some();
        let takes_no_code = is_own && cwd.is_none_or(Template::depends_on_cwd);
        let cwd = match (cwd, &setup.work_dirs) {
            (Some(cwd), _) => Some(PathBuf::from(self.value(cwd, "cwd")?)),
            (None, Some(base)) => Some(self.private_folder(base)?),
            (None, None) => None,
        };
        let mut own = BTreeMap::new();
        for (name, template) in env {
            let field = format!("env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(self.invalid(&field, "is not a valid variable name"));
            }
            let value = self.secret(template, &field)?;
            self.hide_in_lists(template, name, &value);
            if value.contains('\0') {
                return Err(self.invalid(&field, "contains a NUL byte"));
            }
            own.insert(name.clone(), value);
        }
        if takes_no_code
            && !own.contains_key(safe_path::VARIABLE)
            && safe_path::is_needed(&program, &args, is_private)
        {
            own.insert(safe_path::VARIABLE.to_owned(), "1".to_owned());
        }
        // Variables that were allowed by name may be keys as well.
        for value in also_allowed.iter().filter_map(|name| ours.get(name)) {
            self.redactor.add(value);
        }
        Ok(Launch {
            program,
            args,
            env: environment::server_environment(ours, also_allowed, own),
            cwd,
            confinement: None,
        })
    }

    fn private_folder(&self, base: &Path) -> ToolResult<PathBuf> {
        work_dir::private_folder(base, &self.spec.name).map_err(|(folder, why)| {
            let folder = UntrustedText::new(&folder.to_string_lossy()).to_string();
            let what = format!(
                "cannot start server `{}`: its working directory `{folder}` cannot be used: {}",
                self.spec.name,
                UntrustedText::new(&why)
            );
            ToolError::new(Reason::SpawnFailed, what)
                .at_server(&self.spec.name)
                .at_field("cwd")
                .with_remedy(format!(
                    "Remove `{folder}`, or set `cwd` of the server to a folder that you own."
                ))
        })
    }
}

/// Returns whether a variable or header of this name holds a secret.
fn names_secret(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "token",
        "secret",
        "key",
        "passw",
        "auth",
        "credential",
        "cookie",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Returns what the references in a written value stand for, determined by the literal text around them. A value that
/// does not match returns nothing; it is masked as a whole anyway.
fn referenced<'v>(written: &str, value: &'v str) -> Vec<&'v str> {
    let mut found = Vec::new();
    let (mut written, mut value) = (written, value);
    while let Some((before, reference)) = written.split_once("${") {
        if before.ends_with('$') {
            // `$${` is an escape, so the texts no longer match one to one.
            break;
        }
        let (Some(rest), Some((_, after))) =
            (value.strip_prefix(before), reference.split_once('}'))
        else {
            break;
        };
        let next = after.split("${").next().unwrap_or_default();
        let end = if next.is_empty() {
            None
        } else {
            rest.find(next)
        };
        let (part, rest) = rest.split_at(end.unwrap_or(rest.len()));
        found.push(part);
        (written, value) = (after, rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::referenced;

    #[track_caller]
    fn check(written: &str, value: &str, expected: &[&str]) {
        assert_eq!(referenced(written, value), expected, "{written} as {value}");
    }

    #[test]
    fn r_obs_03_the_value_of_a_reference_is_found_by_the_surrounding_text() {
        check("--token=${TOKEN}", "--token=abc", &["abc"]);
        check(
            "db://${USER}:${secret:pw}@host",
            "db://ann:x:y@host",
            &["ann", "x:y"],
        );
        check("${A}${B}", "abcdef", &["abcdef", ""]);
        check("plain", "plain", &[]);
        check("$${not}", "${not}", &[]);
        check("${unclosed", "x", &[]);
    }
}
