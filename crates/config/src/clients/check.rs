//! Checks an imported server as loading the configuration would.

use std::collections::BTreeMap;
use std::path::Path;

use pegboard_model::{Layer, Limits, Reason, Secret, ServerName};

use super::draft::Draft;
use super::table::FileScope;
use super::value::SecretForm;
use crate::edit::new_server_text;
use crate::environment::Environment;
use crate::node::Node;
use crate::problem::{Problem, Severity};
use crate::reader::TableReader;
use crate::server::read_server;
use crate::settings::Settings;
use crate::template::Resolver;
use crate::text::SourceText;

/// Checks the server in the file that it would be written to. Missing variables and secrets are no error, because they
/// can be set later.
///
/// # Errors
/// Fails with the reason why Pegboard would reject the server.
pub(super) fn check_server(
    draft: &Draft,
    name: &ServerName,
    scope: FileScope,
    file: &Path,
    env: &Environment,
) -> Result<(), Problem> {
    let rejected = |message: String, help: String| {
        Problem::error(Reason::ConfigInvalid, message)
            .help(help)
            .of_server(name.as_str())
    };
    let placeholder = |_: &Secret, _: &str| "checked".to_owned();
    let server = draft.server(name.clone(), &SecretForm::Reference(&placeholder));
    let Some(server) = server else {
        let message = "a value has a `$` directly before a variable, which Pegboard cannot express";
        return Err(rejected(
            message.to_owned(),
            "add the server with `pegboard add`".to_owned(),
        ));
    };
    let limits = Limits::default();
    let text = with_known_secrets(&new_server_text(&server).unwrap_or_default());
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut source = SourceText::new(folder.join("config.toml"), text);
    if source.parse(&limits).is_err() {
        let message = "a value cannot be written to the config file";
        return Err(rejected(
            message.to_owned(),
            "add the server with `pegboard add`".to_owned(),
        ));
    }
    let servers = source.tree().and_then(|tree: &Node| tree.get("servers"));
    let Some(entry) = servers.and_then(|servers| servers.node.get(name.as_str())) else {
        return Ok(());
    };
    let values = Resolver::without_secrets(env, &limits);
    let mut reader = TableReader {
        source: &source,
        values: &values,
        layer: match scope {
            FileScope::User => Layer::User,
            FileScope::Project => Layer::Project,
        },
        folder,
        server: Some(name.as_str()),
        own_env: BTreeMap::new(),
        problems: Vec::new(),
    };
    read_server(entry, &Settings::default(), &mut reader);
    let matters = |problem: &Problem| {
        problem.severity == Severity::Error && problem.reason != Reason::ConfigSecretMissing
    };
    match reader.problems.into_iter().find(matters) {
        // The place is in a file that does not exist.
        Some(problem) => Err(rejected(problem.message, problem.help)),
        None => Ok(()),
    }
}

/// Replaces references to secrets by a text. A value with a missing secret is not checked further, and would be rejected
/// only after the secret was set.
fn with_known_secrets(text: &str) -> String {
    let mut parts = text.split("${secret:");
    let mut known = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        known.push_str("secret");
        known.push_str(part.split_once('}').map_or("", |(_, rest)| rest));
    }
    known
}
