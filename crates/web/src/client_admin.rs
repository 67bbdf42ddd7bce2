//! Other MCP clients on this machine, as the API and the dashboard show them. No secret value is in any of these types.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An MCP client on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// The client's key, such as `claude-code`.
    #[schema(example = "claude-code")]
    pub client: String,
    /// The client's name.
    pub name: String,
    /// How it reaches its servers: `not_installed`, `no_servers`, `direct`, `through_pegboard`, `both` or `unreadable`.
    #[schema(example = "direct")]
    pub state: String,
    /// The file that connecting it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Names of the servers that it reaches directly.
    pub direct: Vec<String>,
    /// Names in Pegboard of the user's servers that can be imported from it.
    pub importable: Vec<String>,
    /// Pegboard's entry in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<ClientEntry>,
    /// Whether Pegboard can change its file.
    pub can_connect: bool,
    /// Whether disconnecting restores what connecting has changed.
    pub has_record: bool,
    /// Why its file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Pegboard's entry in a client's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientEntry {
    /// Its name in the file.
    pub name: String,
    /// `stdio` or `http`.
    pub transport: String,
    /// Whether it starts another program than this Pegboard.
    pub is_other_program: bool,
    /// Whether the program does not exist any more.
    pub is_missing: bool,
}

/// What an import of the clients' servers would write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportPreview {
    /// Identifies this plan; the import is refused if the servers have changed since.
    pub plan_hash: String,
    /// The file that the user's servers are written to.
    pub user_file: String,
    /// The file that the project's servers are written to.
    pub project_file: String,
    /// The clients' files.
    pub files: Vec<ImportFileInfo>,
    /// The servers in them.
    pub servers: Vec<ImportServerInfo>,
}

/// A client's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportFileInfo {
    /// The client's key.
    pub client: String,
    /// The client's name.
    pub client_name: String,
    /// The path.
    pub path: String,
    /// `user` or `project`.
    pub scope: String,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The servers in the file, as indexes of `servers`.
    pub servers: Vec<usize>,
}

/// A server in one or several clients' files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportServerInfo {
    /// Its name in the first file.
    pub original_name: String,
    /// Its name in Pegboard; absent if it cannot be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `new`, `same`, `differs`, `broken`, `pegboard` or `read`. Only `new` and `differs` can be imported.
    #[schema(example = "new")]
    pub state: String,
    /// Whether it can be imported.
    pub is_importable: bool,
    /// `user` or `project`. A project's server needs trust before it runs.
    pub scope: String,
    /// The configured server with the same definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub existing: Option<String>,
    /// The command line or URL, masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Whether it will be enabled.
    pub enabled: bool,
    /// Values that look like secrets.
    pub secrets: Vec<ImportSecretInfo>,
    /// Names of secrets that have to be set before it works.
    pub missing_secrets: Vec<String>,
    /// What is not carried over, and the policies that will be written.
    pub notes: Vec<String>,
    /// Why it cannot be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The files that define it.
    pub sources: Vec<ImportSourceInfo>,
}

/// A value that looks like a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportSecretInfo {
    /// Where it is, such as `env.GITHUB_TOKEN`.
    pub place: String,
    /// Its name in the secret store.
    pub name: String,
}

/// A file that defines a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportSourceInfo {
    /// The client's key.
    pub client: String,
    /// The client's name.
    pub client_name: String,
    /// The file.
    pub path: String,
    /// The line of the entry.
    pub line: usize,
    /// The name in that file.
    pub name: String,
}

/// What to do with values that look like secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretHandling {
    /// Move them into the secret store and write references.
    #[default]
    Store,
    /// Write them into the config file as they are.
    Keep,
    /// Do not import servers with such values.
    Refuse,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportOutcome {
    /// One result for each chosen server.
    pub results: Vec<ImportServerOutcome>,
    /// Names of the secrets that were stored.
    pub stored_secrets: Vec<String>,
    /// Names of secrets that have to be set before the written servers work.
    pub missing_secrets: Vec<String>,
}

/// The result for one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportServerOutcome {
    /// Its name in Pegboard.
    pub name: String,
    /// `written`, `skipped` or `failed`.
    #[schema(example = "written")]
    pub state: String,
    /// The file that it was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether it needs trust before it runs.
    pub needs_trust: bool,
    /// Why it was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A change to the connection of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionChange {
    /// Adds Pegboard to the client's file. With `take_over`, the servers that Pegboard has are taken out of it.
    Connect {
        /// Whether servers are taken out.
        take_over: bool,
    },
    /// Takes back what connecting has changed.
    Disconnect,
}

/// What a change to the connection of a client writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionPreview {
    /// The client's key.
    pub client: String,
    /// Identifies this plan; the change is refused if it would be another one by then.
    pub plan_hash: String,
    /// The changes; empty if there is nothing to do.
    pub changes: Vec<ClientFileChange>,
}

/// A change to a client's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientFileChange {
    /// The file.
    pub file: String,
    /// The change as a unified diff; values that may be secrets are masked.
    pub diff: String,
    /// Whether the file is created.
    pub creates_file: bool,
    /// Whether the file is deleted, because connecting has created it.
    pub deletes_file: bool,
    /// When disconnecting: whether the file gets its old content back, byte for byte.
    pub is_exact: bool,
    /// Servers that are taken out.
    pub taken_out: Vec<String>,
    /// Servers that are put back.
    pub put_back: Vec<String>,
    /// Servers that the client still reaches directly.
    pub direct: Vec<String>,
}
