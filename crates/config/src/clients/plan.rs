//! What an import would do. The types are for people and programs: no secret value is in their serialized form or in
//! `Debug`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pegboard_model::{Policy, Secret, ServerName};
use serde::Serialize;

use super::draft::Draft;
use super::scan::SHOWN_NAME;
use super::table::FileScope;
use crate::problem::{Problem, shown_text};

/// Everything that was found in the clients' files, and what an import of it would write.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ImportPlan {
    /// The files that exist, in the order of the table of clients.
    pub files: Vec<ImportFile>,
    /// The servers. A server that several files define is one.
    pub servers: Vec<ImportServer>,
    /// The file that the user's servers are written to.
    pub user_file: PathBuf,
    /// The file that the project's servers are written to. They need trust before they run.
    pub project_file: PathBuf,
    /// Hashes of the files when they were read.
    #[serde(skip)]
    pub(super) hashes: BTreeMap<PathBuf, blake3::Hash>,
}

/// A client's file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ImportFile {
    /// The client's key, such as `claude-code`.
    pub client: &'static str,
    /// The client's name for people.
    pub client_name: &'static str,
    /// The path.
    pub path: PathBuf,
    /// Whether it contains the user's or the project's servers.
    pub scope: FileScope,
    /// Whether the file could be read.
    pub state: FileState,
    /// Why it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The servers in the file, as indexes of [`ImportPlan::servers`].
    pub servers: Vec<usize>,
}

/// The state of a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FileState {
    /// It contains servers.
    Ok,
    /// It contains no servers.
    Empty,
    /// It cannot be read or parsed.
    Broken,
}

/// A server in one or several clients' files.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ImportServer {
    /// The name in the first file, escaped for display.
    pub original_name: String,
    /// The name in Pegboard. `None` for servers that cannot be imported.
    pub name: Option<ServerName>,
    /// What an import would do.
    pub state: ServerState,
    /// Whether it is the user's or the project's server.
    pub scope: FileScope,
    /// The configured server with the same definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<ServerName>,
    /// The command line or URL, with everything masked that may be a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Its working directory, variables and headers as they would be written, one per line; secrets are references.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Whether the server will be enabled.
    pub enabled: bool,
    /// Values that look like secrets.
    pub secrets: Vec<ImportSecret>,
    /// Secrets that the user has to set before the server works.
    pub required_secrets: Vec<RequiredSecret>,
    /// Policies that will be written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub policies: BTreeMap<String, Policy>,
    /// Tools that stay available although a pattern of the policies disables them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<String>,
    /// What is not carried over, with the reason.
    pub notes: Vec<String>,
    /// Why the server cannot be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
    /// The files that define the server.
    pub sources: Vec<ImportSource>,
    /// The name in the first file as it is.
    #[serde(skip)]
    pub(super) raw_name: String,
    #[serde(skip)]
    pub(super) draft: Option<Draft>,
    /// The name of each secret.
    #[serde(skip)]
    pub(super) secret_names: Vec<NamedSecret>,
}

/// A secret with its name in the store.
#[derive(Clone, Debug)]
pub(super) struct NamedSecret {
    pub(super) name: String,
    pub(super) hint: String,
    pub(super) value: Secret,
}

/// What an import does with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ServerState {
    /// It is not configured yet.
    New,
    /// A server with the same definition is configured.
    Same,
    /// Another server of the name is configured; this one gets another name.
    Differs,
    /// It cannot be imported.
    Broken,
    /// It is Pegboard itself.
    Pegboard,
    /// Pegboard reads the file itself.
    Read,
}

/// A value that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImportSecret {
    /// Where the value is, such as `env.GITHUB_TOKEN`.
    pub place: String,
    /// The name in the secret store.
    pub name: String,
    /// Whether the store has this secret already, with this value.
    pub is_stored: bool,
}

/// A secret that the user has to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RequiredSecret {
    /// Where the value is used.
    pub place: String,
    /// The name in the secret store.
    pub name: String,
    /// What the client says about it.
    pub prompt: String,
    /// Whether the store has a secret of this name.
    pub is_stored: bool,
}

/// A file that defines a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImportSource {
    /// The client's key.
    pub client: &'static str,
    /// The client's name for people.
    pub client_name: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The line of the entry.
    pub line: usize,
    /// The name in that file, escaped for display.
    pub name: String,
}

impl ImportPlan {
    /// Returns the configured server with the same definition as a server in a client's own file, whatever its name in
    /// the two places. Servers of a project are not considered.
    pub fn configured_server(&self, client: &str, file: &Path, name: &str) -> Option<&ServerName> {
        let name = shown_text(name, SHOWN_NAME);
        let is_source = |source: &ImportSource| {
            source.client == client && source.path == file && source.name == name
        };
        let mut servers = self
            .servers
            .iter()
            .filter(|server| server.scope == FileScope::User && server.state == ServerState::Same);
        let found = servers.find(|server| server.sources.iter().any(is_source))?;
        found.existing.as_ref()
    }

    /// Returns the servers that an import can write.
    pub fn importable(&self) -> impl Iterator<Item = &ImportServer> {
        self.servers.iter().filter(|server| server.is_importable())
    }
}

impl ImportServer {
    /// Whether an import would write this server.
    pub fn is_importable(&self) -> bool {
        matches!(self.state, ServerState::New | ServerState::Differs)
    }

    /// Returns the name of a secret in the store.
    pub(super) fn secret_name(&self, value: &Secret, hint: &str) -> String {
        let found = self
            .secret_names
            .iter()
            .find(|secret| secret.hint == hint && secret.value == *value);
        found.map(|secret| secret.name.clone()).unwrap_or_default()
    }
}
