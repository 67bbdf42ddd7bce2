//! Values that must never be shown, and texts that name them.

use std::fmt;

/// A value that prints as `***` wherever it is printed and is not serialisable.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself: for spawning, sending and hashing, never for showing.
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

/// Where the value of a `${secret:NAME}` comes from.
pub trait SecretLookup: Send + Sync {
    /// The value kept under a name, if there is one.
    fn secret(&self, name: &str) -> Option<Secret>;
}

/// A lookup that knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl SecretLookup for NoSecrets {
    fn secret(&self, _name: &str) -> Option<Secret> {
        None
    }
}

/// The reference that stands for the project's folder, or the current folder where there is no project.
pub const PROJECT_REFERENCE: &str = "${project}";

/// A configured value: how it was written, and the parts it resolves to.
///
/// Variables are resolved when the config is read; kept secrets only when the value is used, so that
/// listing tools never opens a keychain.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    written: String,
    parts: Vec<TemplatePart>,
}

/// One part of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// Text that is already known (literal, or from a variable).
    Resolved(Secret),
    /// The name of a kept secret, and the version of its value (changes whenever the value does).
    StoredSecret {
        /// The name in `${secret:NAME}`.
        name: String,
        /// Stands for the value in hashes.
        version: String,
    },
}

impl Template {
    /// A value that stands for itself.
    pub fn literal(text: impl Into<String>) -> Self {
        let written = text.into();
        Self {
            parts: vec![TemplatePart::Resolved(Secret::new(written.clone()))],
            written,
        }
    }

    /// A value with its parts.
    pub fn new(written: impl Into<String>, parts: Vec<TemplatePart>) -> Self {
        Self {
            written: written.into(),
            parts,
        }
    }

    /// The value as it stands in the file, with `${…}` unresolved.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether it names a variable or a kept secret. The project's folder is neither: it may be shown.
    pub fn has_references(&self) -> bool {
        let references = self.written.replace("$${", "");
        references.replace(PROJECT_REFERENCE, "").contains("${")
    }

    /// Whether its value depends on the folder in which Pegboard was started.
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

    /// The value for a person who must know exactly what will run: what it stands for where that is no
    /// secret, as it was written where it names variables or secrets.
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

    /// The parts, for hashing.
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }

    /// The value itself; the error is the name of the secret that is not there.
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

/// Shows neither the written form nor the value: a literal may be a key that was pasted into the file.
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
    fn what_will_run_is_shown_exactly_unless_it_is_a_reference() {
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
    fn r_sec_09_a_value_that_follows_the_current_folder_is_recognised() {
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
        assert_eq!(template.exact(), "/work/site", "a folder is not a secret");
    }

    #[test]
    fn a_secret_that_is_not_kept_is_named() {
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
