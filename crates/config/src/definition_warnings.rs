//! Warnings about a server's definition, shown before the server is added or trusted.

use pegboard_model::{ServerName, Template, Transport, UntrustedText, plaintext_secret};
use serde::Serialize;

use crate::loader_variables::loader_variable;

/// A warning about one key of a definition. It never contains the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DefinitionWarning {
    /// The key, such as `env.BASH_ENV` or `args[2]`. Arguments are counted from 1.
    pub key: String,
    /// What is wrong and how to fix it.
    pub text: String,
}

impl DefinitionWarning {
    /// Returns key and text on one line.
    pub fn sentence(&self) -> String {
        format!("`{}`: {}", self.key, self.text)
    }
}

/// Warns of variables that change what a program loads, and of secrets in arguments.
pub fn definition_warnings(server: &ServerName, transport: &Transport) -> Vec<DefinitionWarning> {
    let Transport::Stdio { args, env, .. } = transport else {
        return Vec::new();
    };
    let loaders = env.keys().filter_map(|name| {
        let row = loader_variable(name)?;
        Some(DefinitionWarning {
            key: format!("env.{}", UntrustedText::new(name)),
            text: format!("{}; remove it unless you know why it is needed", row.reason),
        })
    });
    let secrets = written_secrets(server, args).into_iter();
    loaders.chain(secrets.map(|(_, warning)| warning)).collect()
}

/// Finds arguments that contain a secret. Positions start at 0.
pub(crate) fn written_secrets(
    server: &ServerName,
    args: &[Template],
) -> Vec<(usize, DefinitionWarning)> {
    let mut found = Vec::new();
    let mut before: Option<&str> = None;
    for (at, arg) in args.iter().map(Template::written).enumerate() {
        if let Some(secret) = plaintext_secret(before, arg) {
            let name = secret_name(server, before, arg);
            let reference = format!("${{secret:{name}}}");
            // If the secret is part of a URL, the rest of the URL may be secret too and is not repeated.
            let rewritten = match arg.split_once(secret) {
                Some(("", "")) => format!("write `{reference}`"),
                Some((start, "")) if start.ends_with('=') && start.starts_with('-') => {
                    format!("write `{}{reference}`", UntrustedText::new(start))
                }
                _ => format!("replace the secret with `{reference}`"),
            };
            let text = format!(
                "it looks like a secret and is visible in the file and in the list of processes. \
                 Run `pegboard secret set {name}`, then {rewritten}"
            );
            let key = format!("args[{}]", at + 1);
            found.push((at, DefinitionWarning { key, text }));
        }
        before = Some(arg);
    }
    found
}

/// Suggests a name for the secret in an argument, from the server's name and the flag before it.
pub fn secret_name(server: &ServerName, before: Option<&str>, arg: &str) -> String {
    let flag = match arg.split_once('=') {
        Some((flag, _)) => Some(flag),
        None => before.filter(|flag| flag.starts_with("--") && !flag.contains('=')),
    };
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let flag = flag
        .map(|flag| {
            flag.trim_start_matches('-')
                .to_ascii_lowercase()
                .replace('-', "_")
        })
        .filter(|flag| !flag.is_empty() && flag.len() <= 32 && flag.chars().all(is_good));
    match flag {
        Some(flag) => format!("{server}_{flag}"),
        None => server.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expected: &[(&str, &str)]) {
        let args: Vec<Template> = args.iter().map(|arg| Template::literal(*arg)).collect();
        let server = ServerName::parse("git").unwrap();
        let found = written_secrets(&server, &args);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((_, warning), (key, part)) in found.iter().zip(expected) {
            assert_eq!(warning.key, *key);
            assert!(warning.text.ends_with(part), "{}", warning.text);
            assert!(!warning.text.contains("canary"), "{}", warning.text);
        }
    }

    #[test]
    fn r_cfg_08_the_advice_says_how_to_rewrite_an_argument_and_repeats_no_secret() {
        check(
            &["--token=canary", "x", "--api-key", "canary"],
            &[
                (
                    "args[1]",
                    "`pegboard secret set git_token`, then write `--token=${secret:git_token}`",
                ),
                (
                    "args[4]",
                    "`pegboard secret set git_api_key`, then write `${secret:git_api_key}`",
                ),
            ],
        );
        check(
            &["ghp_canary0123456789", "db://ann:canary@host"],
            &[
                (
                    "args[1]",
                    "`pegboard secret set git`, then write `${secret:git}`",
                ),
                (
                    "args[2]",
                    "`pegboard secret set git`, then replace the secret with `${secret:git}`",
                ),
            ],
        );
        check(
            &["--id=AKIACANARY0123456789"],
            &[("args[1]", "write `--id=${secret:git_id}`")],
        );
        check(&["--token=${TOKEN}", "-y", "server@1.2.3"], &[]);
    }
}
