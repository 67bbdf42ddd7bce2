//! Secrets in server definitions, and secrets resolved later.

use std::sync::Arc;

use pegboard_model::{
    Secret, SecretLookup, ServerSpec, Template, Transport, has_url_secret, is_secret_name,
    secret_arguments, secret_parts,
};

use crate::redactor::Redactor;

/// Returns the values of a server definition that may be secrets: environment variables and headers (except plain words
/// under harmless names), the token, arguments that look like secrets, and the login and query of a URL. Does not
/// resolve stored secrets; see [`LearningSecretLookup`].
pub fn secrets_of(spec: &ServerSpec) -> Vec<Secret> {
    let mut found = Vec::new();
    match &spec.transport {
        Transport::Stdio { args, env, .. } => {
            named(env.iter(), &mut found);
            let suspects = secret_arguments(args.iter().map(Template::written));
            for (argument, is_suspect) in args.iter().zip(suspects) {
                let Some(value) = resolve(argument) else {
                    continue;
                };
                if is_suspect || argument.has_references() || has_url_secret(value.reveal()) {
                    found.extend(secret_parts(value.reveal()).into_iter().map(Secret::new));
                }
            }
        }
        Transport::Http {
            url,
            headers,
            bearer,
            ..
        } => {
            named(headers.iter(), &mut found);
            found.extend(bearer.as_ref().and_then(resolve));
            found.extend(resolve(url).iter().flat_map(url_credentials));
        }
    }
    found
}

fn named<'a>(values: impl Iterator<Item = (&'a String, &'a Template)>, found: &mut Vec<Secret>) {
    for (name, template) in values {
        let is_harmless = !is_secret_name(name) && !template.has_references();
        let value = resolve(template).filter(|value| !(is_harmless && is_plain(value.reveal())));
        found.extend(value);
    }
}

/// The value of a template, unless it needs a stored secret.
fn resolve(template: &Template) -> Option<Secret> {
    template.resolve(&pegboard_model::NoSecrets).ok()
}

/// The credentials in a URL: the login, and the query values that are not plain words.
fn url_credentials(url: &Secret) -> Vec<Secret> {
    let Ok(url) = reqwest::Url::parse(url.reveal()) else {
        return Vec::new();
    };
    let login = [url.username(), url.password().unwrap_or_default()];
    let login = login.into_iter().map(Secret::new);
    let query = url.query_pairs().map(|(_, value)| Secret::new(value));
    let query = query.filter(|value| !is_plain(value.reveal()));
    login.chain(query).collect()
}

/// Whether a value is words, a number or a path. Redacting `production` or `application/json` everywhere would only
/// make texts unreadable.
fn is_plain(value: &str) -> bool {
    let is_words = value
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || b"_-./ ".contains(&byte));
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_words || is_number || value.starts_with('/')
}

/// Resolves stored secrets and registers each one with the redactor before it is used.
pub struct LearningSecretLookup {
    inner: Arc<dyn SecretLookup>,
    redactor: Arc<Redactor>,
}

impl LearningSecretLookup {
    /// Wraps a lookup.
    pub fn new(inner: Arc<dyn SecretLookup>, redactor: Arc<Redactor>) -> Self {
        Self { inner, redactor }
    }
}

impl SecretLookup for LearningSecretLookup {
    fn secret(&self, name: &str) -> Option<Secret> {
        let secret = self.inner.secret(name)?;
        self.redactor.learn([&secret]);
        Some(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pegboard_model::NoSecrets;
    use pegboard_testkit::{http_spec, stdio_spec, with_env};

    fn values(spec: &ServerSpec) -> Vec<String> {
        let found = secrets_of(spec);
        found
            .iter()
            .map(|secret| secret.reveal().to_owned())
            .collect()
    }

    #[test]
    fn r_obs_03_the_values_of_a_definition_are_known() {
        let spec = stdio_spec(
            "s",
            "run",
            ["--token=canary-1", "--verbose", "--api-key", "canary-2"],
        );
        let spec = with_env(spec, "ANY", "canary-3");
        let spec = with_env(spec, "MODE", "production");
        let spec = with_env(spec, "FORMAT", "application/json");
        let spec = with_env(spec, "HOME_FOLDER", "/home/ada");
        let mut found = values(&with_env(spec, "PASSWORD", "hunter"));
        found.sort();
        assert_eq!(
            found,
            [
                "--token=canary-1",
                "canary-1",
                "canary-2",
                "canary-3",
                "hunter"
            ]
        );
        let remote = http_spec("s", "https://ada:canary-4@host/mcp?key=canary-5&mode=plain");
        assert_eq!(values(&remote), ["ada", "canary-4", "canary-5"]);
    }

    #[test]
    fn r_obs_03_a_kept_secret_is_known_once_it_is_opened() {
        struct One;
        impl SecretLookup for One {
            fn secret(&self, name: &str) -> Option<Secret> {
                (name == "github").then(|| Secret::new("canary-kept"))
            }
        }
        let redactor = Arc::new(Redactor::default());
        let learning = LearningSecretLookup::new(Arc::new(One), redactor.clone());
        assert_eq!(redactor.clean("canary-kept"), "canary-kept");
        assert_eq!(learning.secret("github"), Some(Secret::new("canary-kept")));
        assert_eq!(redactor.clean("canary-kept"), "***");
        assert_eq!(NoSecrets.secret("github"), learning.secret("other"));
    }
}
