//! Secret values, and templates that refer to them.

use std::fmt;

/// A value that is printed as `***` and cannot be serialized.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for spawning, sending and hashing. It must never be displayed.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Looks up the values of `${secret:NAME}` references.
pub trait SecretLookup: Send + Sync {
    /// Returns the stored secret with this name, if it exists.
    fn secret(&self, name: &str) -> Option<Secret>;
}

/// A lookup without any secrets.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl SecretLookup for NoSecrets {
    fn secret(&self, _name: &str) -> Option<Secret> {
        None
    }
}

/// The reference to the project directory, or to the current directory if there is no project.
pub const PROJECT_REFERENCE: &str = "${project}";

/// A configured value: its source text and the parts that it resolves to.
///
/// Variables are resolved when the config is loaded. Stored secrets are resolved only when the value is used, so that
/// listing tools never opens a keychain.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    written: String,
    parts: Vec<TemplatePart>,
}

/// One part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Text that is already resolved: a literal, or the value of a variable.
    Resolved(Secret),
    /// A reference to a stored secret.
    StoredSecret {
        /// The name in `${secret:NAME}`.
        name: String,
        /// Changes whenever the secret's value changes; used in hashes instead of the value.
        version: String,
    },
}

impl Template {
    /// Creates a template without references.
    pub fn literal(text: impl Into<String>) -> Self {
        let written = text.into();
        Self {
            parts: vec![TemplatePart::Resolved(Secret::new(written.clone()))],
            written,
        }
    }

    /// Creates a template from its source text and parts.
    pub fn new(written: impl Into<String>, parts: Vec<TemplatePart>) -> Self {
        Self {
            written: written.into(),
            parts,
        }
    }

    /// The source text with `${…}` unresolved.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether the template refers to a variable or a stored secret. `${project}` does not count, because the directory
    /// may be displayed.
    pub fn has_references(&self) -> bool {
        let references = self.written.replace("$${", "");
        references.replace(PROJECT_REFERENCE, "").contains("${")
    }

    /// Whether the value depends on the directory in which Pegboard was started.
    pub fn depends_on_cwd(&self) -> bool {
        let references = self.written.replace("$${", "");
        let names = [
            "${project}",
            "${PWD",
            "${env:PWD",
            "${OLDPWD",
            "${env:OLDPWD",
        ];
        names.iter().any(|name| references.contains(name))
    }

    /// The value for a person who reviews what will run: resolved if it contains no references, otherwise the source
    /// text.
    pub fn exact(&self) -> String {
        let known = self.parts.iter().map(|part| match part {
            TemplatePart::Resolved(text) => Some(text.reveal()),
            TemplatePart::StoredSecret { .. } => None,
        });
        match known.collect::<Option<String>>() {
            Some(value) if !self.has_references() => value,
            _ => self.written.clone(),
        }
    }

    /// The parts of the template.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }

    /// Resolves the value.
    ///
    /// # Errors
    ///
    /// Returns the name of the first secret that does not exist.
    pub fn resolve(&self, lookup: &dyn SecretLookup) -> Result<Secret, String> {
        let mut value = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Resolved(text) => value.push_str(text.reveal()),
                TemplatePart::StoredSecret { name, .. } => {
                    let secret = lookup.secret(name).ok_or_else(|| name.clone())?;
                    value.push_str(secret.reveal());
                }
            }
        }
        Ok(Secret(value))
    }
}

/// Prints neither the source text nor the value: a literal may be a key that was pasted into the file.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_cfg_08_secrets_print_as_stars() {
        let template = Template::new(
            "${TOKEN}",
            vec![TemplatePart::Resolved(Secret::new("canary"))],
        );
        let shown = format!(
            "{:?} {} {:?}",
            Secret::new("canary"),
            Secret::new("canary"),
            template
        );
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(template.resolve(&NoSecrets).unwrap().reveal(), "canary");
    }

    #[test]
    fn resolved_values_are_shown_unless_they_contain_references() {
        let known = |text: &str| vec![TemplatePart::Resolved(Secret::new(text))];
        let anchored = Template::new("./run.sh", known("/project/run.sh"));
        assert_eq!(anchored.exact(), "/project/run.sh");
        let escaped = Template::new("$${HOME}", known("${HOME}"));
        assert_eq!(escaped.exact(), "${HOME}");
        assert_eq!(
            Template::new("${TOKEN}/x", known("canary/x")).exact(),
            "${TOKEN}/x"
        );
    }

    #[test]
    fn r_sec_09_a_value_that_depends_on_the_current_directory_is_recognised() {
        for (written, follows) in [
            ("${project}", true),
            ("${project}/data", true),
            ("${PWD}", true),
            ("${env:PWD:-/x}", true),
            ("$${project}", false),
            ("${HOME}/project", false),
            ("/project", false),
        ] {
            let template = Template::new(written, Vec::new());
            assert_eq!(template.depends_on_cwd(), follows, "{written}");
        }
        let known = vec![TemplatePart::Resolved(Secret::new("/work/site"))];
        let template = Template::new("${project}", known);
        assert_eq!(
            template.exact(),
            "/work/site",
            "a directory is not a secret"
        );
    }

    #[test]
    fn a_missing_secret_is_named_in_the_error() {
        let part = TemplatePart::StoredSecret {
            name: "github".into(),
            version: "1".into(),
        };
        assert_eq!(
            Template::new("${secret:github}", vec![part]).resolve(&NoSecrets),
            Err("github".into())
        );
    }
}
